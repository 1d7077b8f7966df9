"""Where the time goes, beside the paper's seconds."""

import json
from collections.abc import Sequence

from fedcert.app.grid.job import TRAINING as TRAINED
from fedcert.app.report import paper
from fedcert.app.report.cells import Cell
from fedcert.app.report.grouping import ARCHITECTURE, CLIENTS, DATASET, SCALE, heading, spread_table
from fedcert.app.report.measures import EVENTS, Measure, proving, ratio, stage
from fedcert.app.report.table import Column, Table

TRAINING = stage("Training (s)", "data", "training", "properties")
MESSAGES = stage("Messages (s)", "messages")
SAMPLING = stage("Monte Carlo (s)", "estimates")
CAPTION = (
    "Seconds of one run: data, training and properties; the clients' cells; all claims of a family of events,"
    " under both laws; all Monte Carlo estimates. Clients that several runs share are trained once,"
    " and shown with each."
)
PAPERS = (
    "The paper's seconds are those of FedAvg alone, on another machine; the speed-up compares them with our"
    " training, messages, paper-box claims and Monte Carlo for both laws."
)


def times(cells: Sequence[Cell]) -> list[Table]:
    """Seconds by stage; the paper's where the federation is one of its own.

    Args:
        cells: of a grid.
    """
    measures = [
        TRAINING,
        MESSAGES,
        *(proving(events).under("Claims") for events in EVENTS),
        SAMPLING,
        Measure(Column("Paper (s)"), papers_seconds),
        Measure(Column("Speed-up", 1), speed_up),
    ]
    beside = any(paper.in_papers_grid(cell) for cell in cells)
    caption = " ".join([CAPTION, *([PAPERS] if beside else []), totals(cells)])
    table = heading("times", "Where the time goes", caption)
    return spread_table(table, cells, [ARCHITECTURE, DATASET, CLIENTS, SCALE], measures)


def papers_seconds(cell: Cell) -> float | None:
    """The mean FedAvg time that the paper prints for such federations.

    Args:
        cell: None is given where it is none of the paper's.
    """
    row = paper.row_of(cell) if paper.in_papers_grid(cell) else None
    return None if row is None else row.entries["fedavg", "seconds"].mean


def speed_up(cell: Cell) -> float | None:
    """The paper's time over ours for the same work and more.

    Args:
        cell: None is given where it is none of the paper's, or has no claims with the paper's events.
    """
    theirs, claims = papers_seconds(cell), proving("paper-box").of(cell)
    if theirs is None or claims is None:
        return None
    ours = claims + sum(part.of(cell) or 0.0 for part in (TRAINING, MESSAGES, SAMPLING))
    return ratio(theirs, ours)


def federation(cell: Cell) -> str:
    """What determines the clients; cells that share it share them."""
    return json.dumps({name: cell.config.get(name) for name in sorted(TRAINED)})


def totals(cells: Sequence[Cell]) -> str:
    """All seconds together, in words.

    Args:
        cells: of a grid.
    """
    parts = {
        "training": TRAINING,
        "messages": MESSAGES,
        **{f"{events} claims": proving(events) for events in EVENTS},
        "Monte Carlo": SAMPLING,
    }
    once = list({federation(cell): cell for cell in cells}.values())
    sums = {
        name: sum(part.of(cell) or 0.0 for cell in (once if part is TRAINING else cells))
        for name, part in parts.items()
    }
    words = ", ".join(f"{seconds / 60:.1f} min of {name}" for name, seconds in sums.items() if seconds)
    return f"All {len(cells)} runs together: {words}."
