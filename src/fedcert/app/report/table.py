"""A table as data; `formats` writes it as CSV, Markdown and LaTeX, `page` as HTML, the console as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
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


@dataclass(frozen=True)
class Item:
    """A value with a text of its own.

    Attributes:
        text: what is read.
        key: what a page sorts it by; None comes last.
        shade: how dark a page shows it, from 0 to 1.
        link: a page that the text leads to; empty for none.
    """

    text: str
    key: int | float | str | None
    shade: float = 0.0
    link: str = ""


Value = str | int | float | Fraction | Spread | Item | None  # None is shown as a dash


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
        name: a file's stem, and an identifier within a page.
        title: a heading.
        caption: what the figures mean, and how they were made.
        columns: the columns.
        rows: one value for each column in each row.
    """

    name: str
    title: str
    caption: str
    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Value]] = ()

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings that columns share, each with the number of columns; empty where none do."""
        runs = [(name, len(list(run))) for name, run in groupby(self.columns, lambda column: column.group)]
        return runs if any(name for name, _ in runs) else []

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold no words."""
        keys = ([v.key if isinstance(v, Item) else v for v in row] for row in self.rows)
        words = [{i for i, key in enumerate(row) if isinstance(key, str)} for row in keys]
        return [i not in set().union(*words) for i in range(len(self.columns))]


def percent(probability: float | None) -> Fraction | None:
    """A probability in per cent, exactly, so that only its column rounds it.

    >>> percent(0.5), percent(None)
    (Fraction(50, 1), None)
    """
    return None if probability is None else 100 * Fraction(probability)
