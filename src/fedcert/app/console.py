"""The tables of certificates that a run or a grid prints in the terminal."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.table import Table

from fedcert.app.records import Summary
from fedcert.app.report import table as data
from fedcert.app.report.formats import shown
from fedcert.app.report.run_content import headline
from fedcert.app.report.runs import FinishedRun, merged
from fedcert.app.report.tables import means
from fedcert.app.reprove import all_reproved
from fedcert.app.run_table import CERTIFIED, further_lines, run_rows
from fedcert_check.console import plain
from fedcert_check.narrow import FittedTable

NO_BREAK = "\u00a0"  # a space at which lines are not folded


def terminal(table: data.Table, keys: int) -> FittedTable:
    """A table as a terminal shows it.

    Args:
        table: the table to show.
        keys: the number of columns, from the left, that name a row.
    """
    drawn = Table(title=table.title, caption=table.caption, padding=(0, 1, 0, 0))  # fits 80 columns
    for column, number in zip(table.columns, table.numeric, strict=True):
        drawn.add_column(column.name, justify="right" if number else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*map(shown, row, table.columns))
    return FittedTable(drawn, keys)


def summary_table(summary: Summary) -> FittedTable:
    """The certificates of a run at every radius, beside accuracy and estimates.

    Args:
        summary: the content of result.json.
    """
    table = run_rows(summary)
    return terminal(table, [column.name for column in table.columns].index(CERTIFIED))


def folded(text: str, width: int) -> list[str]:
    """A text in lines of a width that part no figure from its sign of per cent.

    Args:
        text: one paragraph.
        width: of the terminal.

    >>> folded("at least 91.95 % and at most 91.99 %", 15)
    ['at least', '91.95 % and at', 'most 91.99 %']
    """
    lines = wrap(text.replace(" %", f"{NO_BREAK}%"), width, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in lines]


def show_run(summary: Summary, folder: Path, console: Console) -> None:
    """Print what a run proves: the sentence that a user came for, the table, and the path of the report.

    Args:
        summary: the content of result.json.
        folder: the run's folder.
        console: where to.
    """
    for line in (line for sentence in headline(summary) for line in folded(sentence, console.width)):
        console.print(plain(line))
    console.print(summary_table(summary))
    for line in (line for text in further_lines(summary) for line in folded(text, console.width)):
        console.print(plain(line))
    console.print(plain(f"report: {folder / 'report.html'}"), soft_wrap=True)
    if not all_reproved(summary):
        console.print(plain(f"not re-proved yet: fedcert check {folder}"), soft_wrap=True)


def grid_table(runs: Sequence[FinishedRun]) -> FittedTable:
    """What is proven of the deployed models at each scale, averaged over the runs of a grid.

    Args:
        runs: the runs of the grid.
    """
    return terminal(means(merged(runs)), keys=2)


def show_grid(runs: Sequence[FinishedRun], out: Path) -> None:
    """Print the means over a grid, and the path of its report.

    Args:
        runs: the runs of the grid.
        out: the folder that its report was written to.
    """
    console = Console()
    console.print(grid_table(runs))
    console.print(plain(f"report: {out / 'report.html'}"), soft_wrap=True)
