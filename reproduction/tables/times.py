"""Where the time goes, beside the paper's seconds."""

from collections.abc import Sequence

from fedcert.app.report import tables
from fedcert.app.report.measures import Measure, proving, ratio
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Table
from fedcert.app.report.tables import MESSAGES, SAMPLING, TRAINING
from reproduction import paper

NOTE = (
    "The paper's seconds are those of FedAvg alone, on another machine; the speed-up compares them with our"
    " training, messages, paper-box claims and Monte Carlo for both laws."
)


def times(runs: Sequence[FinishedRun]) -> list[Table]:
    """Seconds by stage; the paper's where the federation is one of its own."""
    beside = [Measure(Column("Paper (s)"), papers_seconds), Measure(Column("Speed-up", 1), speed_up)]
    return tables.times(runs, beside, NOTE if any(map(paper.in_papers_table, runs)) else "")


def papers_seconds(run: FinishedRun) -> float | None:
    """The mean FedAvg time that the paper prints for such federations.

    Args:
        run: None is given where it is none of the paper's.
    """
    row = paper.row_of(run) if paper.in_papers_table(run) else None
    return None if row is None else row.entries["fedavg", "seconds"].mean


def speed_up(run: FinishedRun) -> float | None:
    """The paper's time over ours for the same work and more.

    Args:
        run: None is given where it is none of the paper's, or has no claims with the paper's events.
    """
    theirs, claims = papers_seconds(run), proving("paper-box").of(run)
    if theirs is None or claims is None:
        return None
    ours = claims + sum(part.of(run) or 0.0 for part in (TRAINING, MESSAGES, SAMPLING))
    return ratio(theirs, ours)
