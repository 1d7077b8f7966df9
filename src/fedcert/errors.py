"""Errors that say what to do. Every error a user can cause derives from `FedcertError`."""

from fedcert_check.errors import FedcertError as FedcertError
from fedcert_check.errors import InvalidCertificate as InvalidCertificate
from fedcert_check.errors import TooCostly as TooCostly
from fedcert_check.errors import UnreadableFile as UnreadableFile


class InvalidBox(FedcertError):
    """A box with NaN, infinite or reversed end points."""

    page = "reference/api.md"


class InvalidLaw(FedcertError):
    """A posterior that is no probability law, such as one with a negative scale."""

    page = "posteriors.md"


class InvalidWeights(FedcertError):
    """Aggregation weights that are negative or do not sum to one."""

    page = "rules.md"


class InvalidProperty(FedcertError):
    """A property outside its domain: an input, a label, a radius or a constraint."""

    page = "messages.md"


class ShapeMismatch(FedcertError):
    """Two parts that do not fit together, such as clients with different networks."""

    page = "posteriors.md"


class UnsupportedLayer(FedcertError):
    """A layer that the network or the verifier does not know; it is never skipped."""

    page = "posteriors.md"


class OverlappingCells(FedcertError):
    """Cells that overlap: their masses cannot be added."""

    page = "threat-model.md"


class UnsupportedMass(FedcertError):
    """A claimed mass that exceeds what the law gives the cell."""

    page = "threat-model.md"


class InvalidMessage(FedcertError):
    """A message file that is truncated, foreign or inconsistent."""

    page = "messages.md"


class TooFewClients(FedcertError):
    """Fewer sound messages than the deployed rule or `--min-clients` asks for."""

    page = "threat-model.md"


class InvalidConfig(FedcertError):
    """A configuration value that makes no sense."""

    page = "reference/command-line.md"


class InvalidArgument(InvalidConfig):
    """An argument of a Python function that makes no sense."""

    page = "reference/api.md"


class DataError(FedcertError):
    """Data that is missing, malformed or too small for what was asked."""

    page = "tables.md"


class InvalidInputs(DataError):
    """A file of inputs, constraints or a network that is unreadable, or that does not fit."""

    page = "messages.md"


class InvalidImages(DataError):
    """Files of MNIST or Fashion-MNIST that are missing or malformed; the message says where to put them."""

    page = "reference/command-line.md"


class NoResults(DataError):
    """A folder without results of runs or grids."""

    page = "how-to/cluster.md"


class OutputExists(FedcertError):
    """The output folder already holds a run."""

    page = "tutorial/report.md"


class CannotWrite(FedcertError):
    """A file that cannot be written: no permission, or no room."""

    page = "tutorial/report.md"


class PieceFailed(FedcertError):
    """A piece of a run that failed where it was done; the others are kept."""

    page = "how-to/cluster.md"


class MissingLibrary(FedcertError):
    """An optional library that is not installed; the message says how to install it."""

    page = "posteriors.md"
