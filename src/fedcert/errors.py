"""Errors that say what to do. Every error a user can cause derives from `FedcertError`."""

from fedcert_check.errors import FedcertError as FedcertError
from fedcert_check.errors import InvalidCertificate as InvalidCertificate
from fedcert_check.errors import TooCostly as TooCostly
from fedcert_check.errors import UnreadableFile as UnreadableFile


class InvalidBox(FedcertError):
    """A box with NaN, infinite or reversed end points."""


class InvalidLaw(FedcertError):
    """A posterior that is no probability law, such as one with a negative scale."""


class InvalidWeights(FedcertError):
    """Aggregation weights that are negative or do not sum to one."""


class InvalidProperty(FedcertError):
    """A property outside its domain: an input, a label, a radius or a constraint."""


class ShapeMismatch(FedcertError):
    """Two parts that do not fit together, such as clients with different networks."""


class UnsupportedLayer(FedcertError):
    """A layer that the network or the verifier does not know; it is never skipped."""


class OverlappingCells(FedcertError):
    """Cells that overlap: their masses cannot be added."""


class UnsupportedMass(FedcertError):
    """A claimed mass that exceeds what the law gives the cell."""


class InvalidMessage(FedcertError):
    """A message file that is truncated, foreign or inconsistent."""


class TooFewClients(FedcertError):
    """Fewer sound messages than the deployed rule or `--min-clients` asks for."""


class InvalidConfig(FedcertError):
    """A configuration value that makes no sense."""


class DataError(FedcertError):
    """Data that is missing, malformed or too small for what was asked."""


class OutputExists(FedcertError):
    """The output folder already holds a run."""


class CannotWrite(FedcertError):
    """A file that cannot be written: no permission, or no room."""


class MissingLibrary(FedcertError):
    """An optional library that is not installed; the message says how to install it."""
