"""What a run or a grid shows in the terminal: its table of certificates."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fedcert.app.report import table as data
from fedcert.app.report.formats import shown
from fedcert.app.report.runs import FinishedRun, merged
from fedcert.app.report.tables import means
from fedcert.app.report.words import hidden, participants
from fedcert.app.result import Summary
from fedcert_check.console import plain
from fedcert_check.percent import bounds


def terminal(table: data.Table) -> Table:
    """A table as a terminal shows it.

    Args:
        table: the table.
    """
    drawn = Table(title=table.title, caption=table.caption, padding=(0, 1, 0, 0))  # fits 80 columns
    for column, number in zip(table.columns, table.numeric, strict=True):
        drawn.add_column(column.name, justify="right" if number else "left", no_wrap=True)
    for row in table.rows:
        drawn.add_row(*map(shown, row, table.columns))
    return drawn


def summary_table(summary: Summary) -> Table:
    """The certificates of a run, beside accuracy and MC–IBP.

    Args:
        summary: the content of result.json.
    """
    config, run = summary["config"], FinishedRun(summary, ())
    title = (
        f"{config['dataset']}, {participants(summary)}, hidden {hidden(config)},"
        f" scale {config['scale']}, {config['properties']} properties"
    )
    caption = (
        "certified: proven bounds [L, U], or L alone, mean over properties\n"
        f"MC–IBP, attack survival: estimates in %; accuracy {100 * summary['accuracy']:.1f} %"
    )
    names = ("claim", "rule", "events", "certified, %", "MC–IBP", "attack", "s")
    rows: list[list[data.Value]] = []
    for claim, row in run.claims.items():
        rule = row["rule"] if row["claim"] != "local" else ""  # local speaks of no deployed model
        seconds = f"{row['seconds']:.1f}" if row["seconds"] < 100 else f"{row['seconds']:.0f}"
        rows.append([
            *claim,
            data.Item(bounds(row["lower"], row["upper"]), row["lower"]),
            data.percent(run.estimate("mc-ibp").get(rule)),
            data.percent(run.estimate("attack-survival").get(rule)),
            data.Item(seconds, row["seconds"]),
        ])
    return terminal(data.Table("summary", title, caption, [*map(data.Column, names)], rows))


def grid_table(runs: Sequence[FinishedRun]) -> Table:
    """What is proven of the deployed models at each scale, mean over the runs of a grid.

    Args:
        runs: of the grid.
    """
    return terminal(means(merged(runs)))


def show_grid(runs: Sequence[FinishedRun], out: Path) -> None:
    """Print what is proven on the whole, and where the report is.

    Args:
        runs: of a grid.
        out: where its report was written.
    """
    console = Console()
    console.print(grid_table(runs))
    console.print(plain(f"report: {out / 'report.html'}"), soft_wrap=True)
