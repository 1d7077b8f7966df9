"""What a check shows in the terminal: progress, the table of verdicts, what is not proved."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
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

from fedcert_check.checking import Refused, Report, Verdict
from fedcert_check.narrow import DASH, FittedTable
from fedcert_check.percent import bounds, exact_bounds
from fedcert_check.progress import Tracker, duration
from fedcert_check.visible import visible
from fedcert_check.words import claim_name, clients_line, sentence, subject_lines

T = TypeVar("T")
MAX_LISTED = 10  # properties that are not proved
LINE_SECONDS = 5.0  # least time between two lines about work that is under way
STAGE_SECONDS = 1.0  # a loop that ends sooner is not reported


def progress(console: Console, program: str) -> AbstractContextManager[Tracker]:
    """A tracker that draws bars in a terminal and prints plain lines elsewhere, for example into a log.

    Args:
        console: where the progress is shown.
        program: the name that each line begins with.
    """
    return progress_bars(console) if console.is_terminal else progress_lines(console, program)


@contextmanager
def progress_lines(
    console: Console, program: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[Tracker]:
    """A tracker that prints a line every few seconds, and one when an outermost loop ends.

    Args:
        console: where the lines are printed.
        program: the name that each line begins with.
        clock: the time in seconds.
    """
    loops: list[_Loop] = []  # those under way, outermost first
    printed = clock()

    def say(text: str) -> None:
        nonlocal printed
        printed = clock()
        console.print(plain(f"{program}: {text}"), soft_wrap=True)

    def track(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
        loop = _Loop(description, _length(items, total), clock())
        loops.append(loop)
        try:
            for item in items:
                yield item
                loop.advance(clock())
                if clock() - printed >= LINE_SECONDS and loop.done != loop.total:
                    where = ", ".join(each.count for each in loops)
                    say(f"{where} after {duration(clock() - loops[0].start)}{loops[0].left(clock())}")
            if loops[0] is loop and clock() - loop.start >= STAGE_SECONDS:
                say(f"{loop.count} in {duration(clock() - loop.start)}")
        finally:
            loops.remove(loop)

    yield track


class _Loop:
    """A loop under way: what it does, how far it has come, and when it began."""

    def __init__(self, description: str, total: int | None, start: float) -> None:
        self.description, self.total, self.start = description, total, start
        self.done, self.last = 0, start  # the items that are done, and when the last of them was

    def advance(self, now: float) -> None:
        """Count an item as done."""
        self.done, self.last = self.done + 1, now

    @property
    def count(self) -> str:
        """What the loop does and how many of its items are done."""
        of = "" if self.total is None else f" of {self.total}"
        return f"{self.description}: {self.done}{of}"

    def left(self, now: float) -> str:
        """About how long the loop will go on, if that is known."""
        if not self.done or self.total is None:
            return ""
        end = self.start + (self.last - self.start) * self.total / self.done
        return f", about {duration(end - now)} left" if end > now else ""


def _length(items: Iterable[T], total: int | None) -> int | None:
    return total if total is not None else getattr(items, "__len__", lambda: None)()


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
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:

        def track(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
            task = bars.add_task(description, total=_length(items, total))
            try:
                for item in items:
                    yield item
                    bars.advance(task)
            finally:
                bars.remove_task(task)

        yield track


def plain(text: str) -> Text:
    """A text from outside as it is printed: no markup, and control characters visible.

    Args:
        text: a name, a path, or a line that quotes one.
    """
    return Text(visible(text))


def check_table(reports: Sequence[Report], refused: Sequence[Refused] = ()) -> FittedTable:
    """What each certificate claims, what was proven of it, and the verdict; of a sample, its own means.

    Args:
        reports: of the checker.
        refused: the certificates without a verdict.
    """
    table = Table(title="mean over properties", padding=(0, 1, 0, 0))
    for name in ("claim", "claimed, %", "proved, %", "verdict"):
        table.add_column(name, no_wrap=True)
    for report in reports:
        table.add_row(
            plain(claim_name(report.document)),
            bounds(*report.claimed_of_asked),
            bounds(*report.proved_mean),
            _verdict(report),
        )
    for one in refused:
        table.add_row(plain(one.path.name), DASH, DASH, "NOT CHECKED")
    return FittedTable(table)


def _verdict(report: Report) -> str:
    looked_at, count = len(report.proved), len(report.document.properties)
    sampled = f", sampled: {looked_at} of {count}" if report.sampled else ""
    if report.outcome is Verdict.NOT_PROVED:
        return f"NOT PROVED: {len(report.failures)}/{looked_at}{sampled}"
    return f"{report.outcome}{sampled}"


def sentences(reports: Sequence[Report]) -> Iterator[Text]:
    """What was proved, a line for each certificate, and of which clients.

    Args:
        reports: of the checker.
    """
    for report in reports:
        yield plain(sentence(report))
    for line in dict.fromkeys(clients_line(report.document) for report in reports):
        yield plain(line)
    subjects = [report.document.subject for report in reports]
    for line in dict.fromkeys(line for own in subjects if own for line in subject_lines(own)):
        yield plain(line)


def unproved(report: Report) -> Iterator[Text]:
    """A line for each of the first properties that are not proved: the bounds that do hold.

    Args:
        report: of the checker.
    """
    name, found = claim_name(report.document), report.by_property
    for p in report.failures[:MAX_LISTED]:
        upper = None if report.document.upper is None else float(report.document.upper[p])
        claimed = exact_bounds(float(report.document.lower[p]), upper)
        held = exact_bounds(found[p].lower, None if upper is None else found[p].upper)
        yield plain(f"{name}, property {p}: claimed {claimed}, proved {held}")
    if len(report.failures) > MAX_LISTED:
        yield plain(f"{name}: and {len(report.failures) - MAX_LISTED} more")
