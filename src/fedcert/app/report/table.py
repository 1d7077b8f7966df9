"""A table as data; `formats` writes it as CSV, Markdown and LaTeX."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Spread:
    """A mean over several results, and how far they differ.

    Attributes:
        mean: of the values.
        deviation: their sample standard deviation; None where there is one value only.
        count: how many values there are.
    """

    mean: float
    deviation: float | None
    count: int


Value = str | int | float | Spread | None  # None is shown as a dash


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: its heading, with the unit.
        digits: decimals of its numbers.
        group: a heading that it shares with its neighbours; empty for none.
        rounding: a proven lower bound is shown rounded down, an upper one rounded up.
    """

    name: str
    digits: int = 2
    group: str = ""
    rounding: Literal["nearest", "down", "up"] = "nearest"


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    Attributes:
        name: a file's stem.
        title: a heading.
        caption: what the figures mean, and how they were made.
        columns: the columns.
        rows: one value for each column in each row.
    """

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
