"""Tables in terminals of any width: no figure is ever cut in half."""

import pytest
from rich.table import Table
from rich.text import Text
from terminal import shown

from fedcert_check.narrow import FittedTable

WIDTHS = (40, 60, 80, 120)


def table() -> Table:
    drawn = Table(title="five bounds", caption="what they mean")
    for name in ("claim", "rule", "certified, %", "survival, %", "verdict"):
        drawn.add_column(name, no_wrap=True)
    drawn.add_row("transported", "fedavg", "[100.00, 100.00]", "–", "proved")
    drawn.add_row(Text("direct [/b]"), "pog", "12.34", "99.98", Text("NOT PROVED: 12/12"))
    return drawn


def test_a_table_that_fits_is_drawn_as_it_is() -> None:
    for width in (80, 120):
        assert shown(FittedTable(table(), 2), width) == shown(table(), width)


def test_the_last_column_that_fits_decides() -> None:
    width = max(map(len, shown(table(), 200).splitlines()[1:-1]))
    assert "━" in shown(FittedTable(table(), 2), width)
    assert "━" not in shown(FittedTable(table(), 2), width - 1)


def test_a_table_that_does_not_fit_is_a_block_for_each_row() -> None:
    assert shown(FittedTable(table(), 2), 40).splitlines() == [
        "five bounds",
        "transported fedavg",
        "  certified, %  [100.00, 100.00]",
        "  verdict       proved",
        "direct [/b] pog",
        "  certified, %  12.34",
        "  survival, %   99.98",
        "  verdict       NOT PROVED: 12/12",
        "what they mean",
    ]


def test_a_value_too_long_for_its_line_stands_below_its_name() -> None:
    assert shown(FittedTable(table(), 1), 24).splitlines()[1:5] == [
        "transported",
        "  rule          fedavg",
        "  certified, %",
        "    [100.00, 100.00]",
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_cell_is_cut_and_no_line_is_too_long(width: int) -> None:
    text = shown(FittedTable(table(), 2), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text
    for cell in ("[100.00, 100.00]", "12.34", "99.98", "NOT PROVED: 12/12", "direct [/b]", "transported"):
        assert cell in text


def test_a_table_without_rows_or_title_is_no_error() -> None:
    assert shown(FittedTable(Table("a" * 30, "b" * 30)), 40) == ""
