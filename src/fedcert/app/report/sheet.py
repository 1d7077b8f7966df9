"""A table as a page shows it: the text of each cell beside what it sorts by."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from fedcert.app.report.formats import shown
from fedcert.app.report.table import Column, Spread, Table, Value
from fedcert.certificate import percent_down, percent_up

PLAIN = Column("")


@dataclass(frozen=True)
class Item:
    """A cell.

    Attributes:
        text: what is read.
        key: what it sorts by; None comes last.
        shade: how dark the cell is, from 0 to 1.
        link: a page that the text leads to; empty for none.
    """

    text: str
    key: int | float | str | None
    shade: float = 0.0
    link: str = ""


@dataclass(frozen=True)
class Heading:
    """The head of a column.

    Attributes:
        name: its text.
        number: whether its cells are numbers, set to the right.
        group: a heading that it shares with its neighbours; empty for none.
    """

    name: str
    number: bool = False
    group: str = ""


@dataclass(frozen=True)
class Sheet:
    """Items under headings.

    Attributes:
        name: an identifier within the page.
        title: a heading.
        caption: what the figures mean.
        headings: of the columns.
        rows: one item for each column in each row.
    """

    name: str
    title: str
    caption: str
    headings: Sequence[Heading]
    rows: Sequence[Sequence[Item]]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings that columns share, each with the number of columns; empty where none do."""
        runs = [(name, len(list(run))) for name, run in groupby(self.headings, lambda h: h.group)]
        return runs if any(name for name, _ in runs) else []


def sheet(table: Table) -> Sheet:
    """How a page shows a table.

    Args:
        table: the table.
    """
    headings = [
        Heading(column.name, not any(isinstance(row[i], str) for row in table.rows), column.group)
        for i, column in enumerate(table.columns)
    ]
    rows = [
        [item(value, column) for value, column in zip(row, table.columns, strict=True)] for row in table.rows
    ]
    return Sheet(table.name, table.title, table.caption, headings, rows)


def item(value: Value, column: Column = PLAIN) -> Item:
    """A value as a cell; a spread sorts by its mean.

    Args:
        value: what the cell holds.
        column: says how to round.
    """
    return Item(shown(value, column), value.mean if isinstance(value, Spread) else value)


def lower(probability: float | None) -> Item:
    """A proven lower bound in per cent, rounded down."""
    return item(None) if probability is None else _percent(percent_down(probability), probability)


def upper(probability: float | None) -> Item:
    """A proven upper bound in per cent, rounded up."""
    return item(None) if probability is None else _percent(percent_up(probability), probability)


def share(probability: float | None) -> Item:
    """An estimate or an accuracy in per cent, rounded to the nearest."""
    return item(None) if probability is None else _percent(f"{100 * probability:.2f}", probability)


def _percent(text: str, probability: float) -> Item:
    return Item(text.removesuffix(" %"), probability)
