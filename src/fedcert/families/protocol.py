"""The interface that a family of events must implement."""

from typing import Protocol, runtime_checkable

from fedcert.certificate import Certificate, Kind
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.laws import Law
from fedcert.progress import Tracker, silent
from fedcert.verify import Safe


@runtime_checkable
class Family(Protocol):
    """A family of events: which sets of parameters are measured, proven safe and added up."""

    @property
    def name(self) -> str:
        """The family's name in claims, tables and options."""
        ...

    def supports(self, problem: Problem, kind: Kind) -> bool:
        """Whether the family has claims of this kind for the problem's rule and laws."""
        ...

    def prove(self, problem: Problem, kind: Kind, track: Tracker = silent) -> Certificate:
        """The certificate of one kind of claim; called only if the family supports it."""
        ...


@runtime_checkable
class SplittableFamily(Family, Protocol):
    """A family whose certificates of some properties each can be joined (`joining.py`)."""

    def splits(self, problem: Problem) -> bool:
        """Whether the problem's properties can be proven in pieces."""
        ...


@runtime_checkable
class CellFamily(Family, Protocol):
    """A family whose transported claims are made from cells that the clients send with their laws."""

    def client_cells(self, law: Law, client: int, safe: Safe, track: Tracker = silent) -> Cells:
        """The cells that one client sends.

        Args:
            law: the client's posterior.
            client: the client's number.
            safe: the verifier and the properties, to screen cells with.
            track: shows progress.
        """
        ...
