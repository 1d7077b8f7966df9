"""What a run shows in the terminal: progress bars and the final table."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from fedcert.app.report import table as data
from fedcert.app.report.formats import shown
from fedcert.app.report.runs import FinishedRun, merged
from fedcert.app.report.tables import means
from fedcert.app.report.words import hidden, participants
from fedcert.app.result import Summary
from fedcert.certificate import percent_down, percent_up
from fedcert.progress import Tracker
from fedcert_check import Refused, Report
from fedcert_check.digest import digest
from fedcert_check.document import Document
from fedcert_check.visible import visible

T = TypeVar("T")
SHOWN = 10  # properties that are listed if they are not proved


@contextmanager
def progress_bars(console: Console) -> Iterator[Tracker]:
    """A tracker that draws a bar for each loop and removes it when the loop ends."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:

        def track(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
            known = total if total is not None else getattr(items, "__len__", lambda: None)()
            task = progress.add_task(description, total=known)
            try:
                for item in items:
                    yield item
                    progress.advance(task)
            finally:
                progress.remove_task(task)

        yield track


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


def plain(text: str) -> Text:
    """A text from outside as it is printed: no markup, and control characters visible.

    Args:
        text: a name, a path, or a line that quotes one.
    """
    return Text(visible(text))


def check_table(reports: Sequence[Report], refused: Sequence[Refused] = ()) -> Table:
    """What each certificate claims, what was proven of it, and the verdict.

    Args:
        reports: of the checker.
        refused: the certificates without a verdict.
    """
    table = Table(title="mean over properties", padding=(0, 1, 0, 0))
    for name in ("claim", "claimed, %", "proved, %", "verdict"):
        table.add_column(name, no_wrap=True)
    for report in reports:
        failed = len(report.failures)
        table.add_row(
            plain(_claim(report)),
            bounds(*report.claimed_mean),
            bounds(*report.proved_mean),
            "proved" if report.verdict else f"NOT PROVED: {failed}/{len(report.proved)}",
        )
    for one in refused:
        table.add_row(plain(one.path.name), "–", "–", "NOT CHECKED")
    return table


def subjects(reports: Sequence[Report]) -> Iterator[Text]:
    """What the certificates speak about, a line for each different one.

    Args:
        reports: of the checker.
    """
    for line in dict.fromkeys(_subject(report.document) for report in reports):
        yield plain(line)


def _subject(document: Document) -> str:
    asked = document.properties
    named = {"lower": asked.lower, "upper": asked.upper, "C": asked.C, "d": asked.d}
    affine = [layer for layer in document.network if layer.linear]
    widths = [str(width) for width in (affine[0].inputs, *(layer.outputs for layer in affine))]
    deep = "" if len(widths) <= SHOWN else f"-…-{widths[-1]}"
    clients = ", ".join(client.name for client in document.clients[:SHOWN])
    more = "" if len(document.clients) <= SHOWN else f" and {len(document.clients) - SHOWN} more"
    return (
        f"of {len(asked)} properties ({digest({}, named)[:12]}), network {'-'.join(widths[:SHOWN])}{deep},"
        f" {len(document.clients)} clients: {clients}{more}"
    )


def unproved(report: Report) -> Iterator[Text]:
    """A line for each of the first properties that are not proved: the figures that do hold.

    Args:
        report: of the checker.
    """
    for p in report.failures[:SHOWN]:
        upper = None if report.document.upper is None else float(report.document.upper[p])
        own = report.proved[p]
        claimed = exact_bounds(float(report.document.lower[p]), upper)
        held = exact_bounds(own.lower, None if upper is None else own.upper)
        yield plain(f"{_claim(report)}, property {p}: claimed {claimed}, proved {held}")
    if len(report.failures) > SHOWN:
        yield plain(f"{_claim(report)}: and {len(report.failures) - SHOWN} more")


def _claim(report: Report) -> str:
    document = report.document
    return f"{document.kind} {document.rule.name} {document.events}"


def exact_bounds(lower: float, upper: float | None) -> str:
    """Proven bounds to the last digit."""
    return repr(lower) if upper is None else f"[{lower!r}, {upper!r}]"


def bounds(lower: float, upper: float | None) -> str:
    """Proven bounds in per cent, rounded outward."""
    least = percent_down(lower).removesuffix(" %")
    return least if upper is None else f"[{least}, {percent_up(upper).removesuffix(' %')}]"
