"""What a run shows in the terminal: progress bars and the final table."""

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

from fedcert.app.report.grid_sheets import federations, overview, typical
from fedcert.app.report.job import Job
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


def summary_table(summary: Summary) -> Table:
    """The certificates of a run, beside accuracy and MC–IBP.

    Args:
        summary: the content of result.json.
    """
    config = summary["config"]
    hidden = "×".join(str(width) for width in config["hidden"])
    table = Table(
        title=f"{config['dataset']}, {participants(summary)}, hidden {hidden},"
        f" scale {config['scale']}, {config['properties']} properties",
        caption="certified: proven bounds [L, U], or L alone, mean over properties\n"
        f"MC–IBP, attack survival: estimates in %; accuracy {100 * summary['accuracy']:.1f} %",
        padding=(0, 1, 0, 0),  # the longest names fit 80 columns
    )
    for name in ("claim", "rule", "events"):
        table.add_column(name, no_wrap=True)
    for name in ("certified, %", "MC–IBP", "attack", "s"):
        table.add_column(name, justify="right", no_wrap=True)
    estimates: dict[tuple[str, str | None], float]
    estimates = {(e["name"], e["rule"]): e["value"] for e in summary["estimates"]}
    for row in summary["summary"]:
        rule = row["rule"] if row["claim"] != "local" else None  # local speaks of no deployed model
        table.add_row(
            row["claim"],
            row["rule"],
            row["events"],
            bounds(row["lower"], row["upper"]),
            _percent(estimates.get(("mc-ibp", rule))),
            _percent(estimates.get(("attack-survival", rule))),
            f"{row['seconds']:.1f}" if row["seconds"] < 100 else f"{row['seconds']:.0f}",
        )
    return table


def grid_table(jobs: Sequence[Job]) -> Table:
    """What is proven of the deployed models at each scale, mean over the jobs of a grid.

    Args:
        jobs: the runs of the grid.
    """
    table = Table(
        title=f"{len(jobs)} jobs, {federations(jobs)} federations",
        caption="certified: proven bounds [L, U], or L alone, of the deployed rule\n"
        f"attack survival: estimates in %; means over {len(typical(jobs))} jobs",
        padding=(0, 1, 0, 0),
    )
    for name in ("scale", "events · claim"):
        table.add_column(name, no_wrap=True)
    for name in ("certified, %", "attack"):
        table.add_column(name, justify="right", no_wrap=True)
    for scale, means in overview(jobs).items():
        for mean in means:
            table.add_row(scale, mean.claim, bounds(mean.lower, mean.upper), _percent(mean.survival))
    return table


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


def participants(summary: Summary) -> str:
    """How many clients took part, and of how many.

    Args:
        summary: the content of result.json.
    """
    present, expected = len(summary["clients"]), summary["config"]["clients"]
    return f"{present} clients" if present == expected else f"{present} of {expected} clients"


def bounds(lower: float, upper: float | None) -> str:
    """Proven bounds in per cent, rounded outward."""
    least = percent_down(lower).removesuffix(" %")
    return least if upper is None else f"[{least}, {percent_up(upper).removesuffix(' %')}]"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"
