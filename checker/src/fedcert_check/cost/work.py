"""What some part of a proof takes."""

from typing import NamedTuple


class Work(NamedTuple):
    """What one layer's noise, or that of all joined layers, takes.

    Attributes:
        build: seconds, once for each law.
        row: seconds for each row that sees it.
        memory: bytes.
    """

    build: float
    row: float
    memory: float

    def plus(self, other: "Work") -> "Work":
        """Both."""
        return Work(self.build + other.build, self.row + other.row, self.memory + other.memory)


NOTHING = Work(0.0, 0.0, 0.0)
