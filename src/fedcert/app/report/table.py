"""A table as data; `formats` writes it as CSV, Markdown and LaTeX, `page` as HTML, the console as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Literal


@dataclass(frozen=True)
class Spread:
    """A mean over several results, with their standard deviation.

    Attributes:
        mean: the mean of the values.
        deviation: the sample standard deviation of the values; None if there is only one value.
        count: the number of values.
    """

    mean: float
    deviation: float | None
    count: int


@dataclass(frozen=True)
class Stated:
    """Where result.json states a bound.

    Attributes:
        claim: which claim it is; see `bounds.stated_name`.
        side: which of its bounds.
        value: the bound, with all digits.
    """

    claim: str
    side: Literal["lower", "upper"]
    value: float


@dataclass(frozen=True)
class Item:
    """A value with its own text.

    Attributes:
        text: the text to show.
        key: the sort key on a page; None comes last.
        shade: how dark its background is on a page, from 0 to 1.
        link: the page that the text links to; empty for none.
        stated: where result.json states this bound; None for what is no bound of it.
    """

    text: str
    key: int | float | str | None
    shade: float = 0.0
    link: str = ""
    stated: Stated | None = None


Value = str | int | float | Fraction | Spread | Item | None  # None is shown as a dash


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: the heading, with the unit.
        digits: the number of decimals.
        group: a heading shared with neighbouring columns; empty for none.
        rounding: how numbers are rounded; proven lower bounds are rounded down, upper bounds up.
        view: a page shows the columns of one view at a time, and those without a view always.
    """

    name: str
    digits: int = 2
    group: str = ""
    rounding: Literal["nearest", "down", "up"] = "nearest"
    view: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under columns.

    Attributes:
        name: the stem of the table's file names, and its identifier within a page.
        title: the heading.
        caption: what the numbers mean, and how they were computed.
        columns: the columns.
        rows: the rows, each with one value per column.
        study: tables of one study are alike, and a page shows one of them at a time; empty for none.
        choice: what tells the table from the others of its study.
    """

    name: str
    title: str
    caption: str
    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Value]] = ()
    study: str = ""
    choice: str = ""

    @property
    def views(self) -> list[str]:
        """The views of its columns, in order; empty where they are shown all at once."""
        found = list(dict.fromkeys(column.view for column in self.columns if column.view))
        return found if len(found) > 1 else []

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings that columns share, each with the number of its columns; empty if there are none."""
        runs = [(name, len(list(run))) for name, run in groupby(self.columns, lambda column: column.group)]
        return runs if any(name for name, _ in runs) else []

    @property
    def spans(self) -> list[tuple[str, str, int]]:
        """The same for a page, by heading and view: columns of different views share no heading."""
        runs = groupby(self.columns, lambda column: (column.group, column.view))
        return [(*both, len(list(run))) for both, run in runs] if self.groups else []

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold no text."""
        keys = ([v.key if isinstance(v, Item) else v for v in row] for row in self.rows)
        words = [{i for i, key in enumerate(row) if isinstance(key, str)} for row in keys]
        return [i not in set().union(*words) for i in range(len(self.columns))]


def percent(probability: float | None) -> Fraction | None:
    """A probability in per cent, exactly, so that only its column rounds it.

    >>> percent(0.5), percent(None)
    (Fraction(50, 1), None)
    """
    return None if probability is None else 100 * Fraction(probability)


def bound(text: str, claim: str, side: Literal["lower", "upper"], value: float | None) -> Item:
    """A bound of result.json as a page shows it; a dash where there is none.

    Args:
        text: the bound in per cent, rounded outward.
        claim: which claim it is; see `bounds.stated_name`.
        side: which of its bounds.
        value: the bound itself.
    """
    if value is None:
        return Item("–", None)
    return Item(text, value, stated=Stated(claim, side, value))
