"""What a check shows in the terminal: progress bars, the table of verdicts, what is not proved."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
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

from fedcert_check.checking import Refused, Report
from fedcert_check.digest import digest
from fedcert_check.document import Document
from fedcert_check.percent import bounds, exact_bounds
from fedcert_check.progress import Tracker
from fedcert_check.visible import visible

T = TypeVar("T")
MAX_LISTED = 10  # clients, layers, or properties that are not proved


@contextmanager
def progress_bars(console: Console) -> Iterator[Tracker]:
    """A tracker that draws a bar for each loop and removes it when the loop ends.

    Args:
        console: where; nothing is drawn if it is not a terminal.
    """
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
    """What the certificates speak about, a line for each different subject.

    Args:
        reports: of the checker.
    """
    for line in dict.fromkeys(_subject(report.document) for report in reports):
        yield plain(line)


def _subject(document: Document) -> str:
    asked = document.properties
    named = {"lower": asked.lower, "upper": asked.upper, "C": asked.C, "d": asked.d}
    widths = [str(width) for width in document.network.widths]
    deep = "" if len(widths) <= MAX_LISTED else f"-…-{widths[-1]}"
    clients = ", ".join(client.name for client in document.clients[:MAX_LISTED])
    more = "" if len(document.clients) <= MAX_LISTED else f" and {len(document.clients) - MAX_LISTED} more"
    return (
        f"of {len(asked)} properties ({digest({}, named)[:12]}),"
        f" network {'-'.join(widths[:MAX_LISTED])}{deep},"
        f" {len(document.clients)} clients: {clients}{more}"
    )


def unproved(report: Report) -> Iterator[Text]:
    """A line for each of the first properties that are not proved: the bounds that do hold.

    Args:
        report: of the checker.
    """
    for p in report.failures[:MAX_LISTED]:
        upper = None if report.document.upper is None else float(report.document.upper[p])
        own = report.proved[p]
        claimed = exact_bounds(float(report.document.lower[p]), upper)
        held = exact_bounds(own.lower, None if upper is None else own.upper)
        yield plain(f"{_claim(report)}, property {p}: claimed {claimed}, proved {held}")
    if len(report.failures) > MAX_LISTED:
        yield plain(f"{_claim(report)}: and {len(report.failures) - MAX_LISTED} more")


def _claim(report: Report) -> str:
    document = report.document
    return f"{document.kind} {document.rule.name} {document.events}"
