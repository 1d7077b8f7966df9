"""How much of the direct bound the transported one keeps."""

from collections.abc import Sequence
from statistics import fmean

from fedcert.app.report.grouping import ARCHITECTURE, CLIENTS, DATASET, SCALE, spread_table
from fedcert.app.report.measures import bound, ratio, spread
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Table, Value
from fedcert.app.report.words import DATASET_NAMES
from reproduction import paper
from reproduction.measures import retention
from reproduction.paper import EVENTS, PaperRow

RATIO = "100 L^tr / L^dir of FedAvg, as a ratio of means and as the mean ratio of the runs."


def ratios(runs: Sequence[FinishedRun]) -> list[Table]:
    """Ratios beside the paper's, by pair and by group; and those of all runs.

    Args:
        runs: of a grid; only those of the paper's protocol stand beside the paper's figures.
    """
    ours = [run for run in runs if paper.in_papers_table(run)]
    by_pair = [_row([*pair, "both"], ours, paper.rows_of(*pair)) for pair in paper.pairs()]
    by_group = [
        _row([*pair, group], ours, [row for row in paper.rows_of(*pair) if row.group == group])
        for pair in paper.pairs()
        for group in paper.GROUPS
    ]
    known = tuple(row for row in (*by_pair, *by_group) if row is not None)
    caption = f"{RATIO} The paper's are from its Table 2, whose rows stand for its runs."
    columns = [Column("Arch."), Column("Dataset"), Column("Heterogeneity"), Column("Runs")]
    for source in ("paper", *EVENTS):
        columns += [Column("of means (%)", group=source), Column("mean (%)", group=source)]
    beside = Table("ratios", "Transported to direct, beside the paper", caption, tuple(columns), known)
    table = Table("ratios-all", "Transported to direct, all runs", "100 L^tr / L^dir of each run, FedAvg.")
    measures = [retention(events).under(events) for events in EVENTS]
    everything = spread_table(table, runs, [ARCHITECTURE, DATASET, CLIENTS, SCALE], measures)
    return ([beside] if known else []) + everything


def ratio_of_means(runs: Sequence[FinishedRun], events: str) -> float | None:
    """100 times the mean of L^tr over the mean of L^dir; None where nothing is certified directly.

    Args:
        runs: what the means are taken over; those without either bound are left out.
        events: the family of events.
    """
    transported, direct = (bound(claim, "fedavg", events) for claim in ("transported", "direct"))
    known = [
        (part, whole)
        for run in runs
        if (part := transported.of(run)) is not None and (whole := direct.of(run)) is not None
    ]
    return ratio(100 * sum((part for part, _ in known), 0.0), sum((whole for _, whole in known), 0.0))


def _row(place: list[str], runs: Sequence[FinishedRun], rows: Sequence[PaperRow]) -> tuple[Value, ...] | None:
    dataset, architecture, group = place
    members = [
        run
        for run in runs
        if (run.dataset, run.architecture) == (dataset, architecture)
        and group in {"both", paper.group_of(run.concentration)}
    ]
    if not members:
        return None
    pairs = [
        (row.entries["fedavg", "transported"].mean, row.entries["fedavg", "direct"].mean) for row in rows
    ]
    values: list[Value] = [architecture, DATASET_NAMES[dataset], group, len(members)]
    values += [100 * fmean(t for t, _ in pairs) / fmean(d for _, d in pairs)]
    values += [spread(100 * t / d for t, d in pairs)]
    for events in EVENTS:
        values += [ratio_of_means(members, events), retention(events).over(members)]
    return tuple(values)
