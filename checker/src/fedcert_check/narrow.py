"""Tables in terminals of any width: where the columns do not fit, each row is a short block of lines."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

ANY_WIDTH = 10_000  # columns, more than any table has
DASH = "–"  # a cell without a value


@dataclass(frozen=True)
class FittedTable:
    """A table that is drawn whole if the terminal is wide enough for it, and otherwise row by row.

    A table that is squeezed into too few columns cuts its cells short, and half a number is another number.

    Attributes:
        table: its cells are texts, its headers too, and its columns do not wrap.
        keys: the number of columns, from the left, that name a row.
    """

    table: Table
    keys: int = 1

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | Text | Padding]:
        needed = Measurement.get(console, options.update(width=ANY_WIDTH), self.table).maximum
        if needed <= options.max_width:
            yield self.table
        else:
            yield from self._blocks(console, options.max_width)

    def _blocks(self, console: Console, width: int) -> Iterator[Text | Padding]:
        """The title, a block for each row, and the caption."""
        if self.table.title:
            yield _text(console, self.table.title, "table.title")
        headers = [_text(console, column.header) for column in self.table.columns]
        for row in zip(*(column.cells for column in self.table.columns), strict=True):
            cells = [_text(console, cell) for cell in row]
            yield Text(" ", "bold").join(cell for cell in cells[: self.keys] if cell)
            for name, cell in zip(headers[self.keys :], cells[self.keys :], strict=True):
                if cell.plain not in ("", DASH):
                    yield from _entry(name, cell, width, max(map(_width, headers[self.keys :])))
        if self.table.caption:
            yield _text(console, self.table.caption, "table.caption")


def _entry(name: Text, cell: Text, width: int, widest: int) -> Iterator[Padding]:
    """A cell beside the name of its column, or below it if both do not fit on a line."""
    if 2 + widest + 2 + _width(cell) <= width:
        yield _indented(name + Text(" " * (widest + 2 - _width(name))) + cell, 2)
    else:
        yield _indented(name, 2)
        yield _indented(cell, min(4, max(0, width - _width(cell))))


def _indented(text: Text, columns: int) -> Padding:
    return Padding(text, (0, 0, 0, columns), expand=False)


def _text(console: Console, content: object, style: str = "") -> Text:
    """A title, a header or a cell as text; a string may hold markup, as in a table."""
    text = content.copy() if isinstance(content, Text) else console.render_str(str(content))
    text.stylize(style)
    return text


def _width(text: Text) -> int:
    return cell_len(text.plain)
