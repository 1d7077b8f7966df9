"""How much of the direct bound the transported one keeps."""

from collections.abc import Sequence
from statistics import fmean

from fedcert.app.report import paper
from fedcert.app.report.cells import Cell
from fedcert.app.report.grouping import (
    ARCHITECTURE,
    CLIENTS,
    DATASET,
    NAMES,
    SCALE,
    heading,
    spread_table,
)
from fedcert.app.report.measures import EVENTS, bound, ratio, retention, spread
from fedcert.app.report.paper import PaperRow
from fedcert.app.report.table import Column, Table, Value

RATIO = "100 L^tr / L^dir of FedAvg, as a ratio of means and as the mean ratio of the cells."


def ratios(cells: Sequence[Cell]) -> list[Table]:
    """Ratios beside the paper's, by pair and by group; and those of all cells.

    Args:
        cells: of a grid; only those of the paper's protocol stand beside the paper's figures.
    """
    ours = [cell for cell in cells if paper.in_papers_grid(cell)]
    by_pair = [_row([*pair, "both"], ours, paper.rows_of(*pair)) for pair in paper.pairs()]
    by_group = [
        _row([*pair, group], ours, [row for row in paper.rows_of(*pair) if row.group == group])
        for pair in paper.pairs()
        for group in paper.GROUPS
    ]
    known = tuple(row for row in (*by_pair, *by_group) if row is not None)
    caption = f"{RATIO} The paper's are from its Table 2, whose rows stand for its cells."
    columns = [Column("Arch."), Column("Dataset"), Column("Heterogeneity"), Column("Cells")]
    for source in ("paper", *EVENTS):
        columns += [Column("of means (%)", group=source), Column("mean (%)", group=source)]
    beside = Table("ratios", "Transported to direct, beside the paper", caption, tuple(columns), known)
    table = heading(
        "ratios-all", "Transported to direct, all cells", "100 L^tr / L^dir of each cell, FedAvg."
    )
    measures = [retention(events).under(events) for events in EVENTS]
    everything = spread_table(table, cells, [ARCHITECTURE, DATASET, CLIENTS, SCALE], measures)
    return ([beside] if known else []) + everything


def ratio_of_means(cells: Sequence[Cell], events: str) -> float | None:
    """100 times the mean of L^tr over the mean of L^dir; None where nothing is certified directly.

    Args:
        cells: what the means are taken over; those without either bound are left out.
        events: the family of events.
    """
    transported, direct = (bound(claim, "fedavg", events) for claim in ("transported", "direct"))
    known = [
        (part, whole)
        for cell in cells
        if (part := transported.of(cell)) is not None and (whole := direct.of(cell)) is not None
    ]
    return ratio(100 * sum((part for part, _ in known), 0.0), sum((whole for _, whole in known), 0.0))


def _row(place: list[str], cells: Sequence[Cell], rows: Sequence[PaperRow]) -> tuple[Value, ...] | None:
    dataset, architecture, group = place
    members = [
        cell
        for cell in cells
        if (cell.dataset, cell.architecture) == (dataset, architecture)
        and group in {"both", paper.group_of(cell.concentration)}
    ]
    if not members:
        return None
    pairs = [
        (row.entries["fedavg", "transported"].mean, row.entries["fedavg", "direct"].mean) for row in rows
    ]
    values: list[Value] = [architecture, NAMES[dataset], group, len(members)]
    values += [100 * fmean(t for t, _ in pairs) / fmean(d for _, d in pairs)]
    values += [spread(100 * t / d for t, d in pairs)]
    for events in EVENTS:
        values += [ratio_of_means(members, events), retention(events).over(members)]
    return tuple(values)
