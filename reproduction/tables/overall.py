"""What one family of events proves over the whole grid: in the mean, and in the worst federation."""

from collections.abc import Sequence

from fedcert.app.report.measures import Measure, accuracy, bound, estimate, upper
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Table, Value
from fedcert.app.report.words import scale_name
from reproduction import paper

CAPTION = (
    "All federations of the paper's grid, FedAvg: the mean of the bounds, and the least in one federation."
    " Equal laws: federations in which the direct bounds of FedAvg and PoG are the same number; Acc. is the"
    " largest difference of their accuracy."
)
COLUMNS = (
    Column("Scale"),
    Column("Events"),
    Column("Runs"),
    Column("mean (%)", group="L^tr", rounding="down"),
    Column("least (%)", group="L^tr", rounding="down"),
    Column("mean (%)", group="L^dir", rounding="down"),
    Column("least (%)", group="L^dir", rounding="down"),
    Column("mean (%)", group="U^dir", rounding="up"),
    Column("mean (%)", group="MC–IBP"),
    Column("mean (%)", group="Survival"),
    Column("runs", group="Equal laws"),
    Column("Acc. (points)", group="Equal laws"),
)


def overall(runs: Sequence[FinishedRun]) -> list[Table]:
    """One row a scale and a family of events.

    Args:
        runs: of a grid; only federations of the paper's grid count.
    """
    rows = tuple(
        _row(scale, events, chosen)
        for scale in (paper.SCALE, "learned")
        if (chosen := paper.papers_grid(runs, scale))
        for events in paper.EVENTS
    )
    return [Table("overall", "The whole grid", CAPTION, COLUMNS, rows)] if rows else []


def _row(scale: float | str, events: str, runs: Sequence[FinishedRun]) -> tuple[Value, ...]:
    transported, direct = bound("transported", "fedavg", events), bound("direct", "fedavg", events)
    other = bound("direct", "pog", events)
    return (
        scale_name(scale),
        events,
        len(runs),
        *(_mean(transported, runs), _least(transported, runs)),
        *(_mean(direct, runs), _least(direct, runs)),
        _mean(upper("direct", "fedavg", events), runs),
        _mean(estimate("mc-ibp", "fedavg"), runs),
        _mean(estimate("attack-survival", "fedavg"), runs),
        sum(direct.of(run) is not None and direct.of(run) == other.of(run) for run in runs),
        max((abs(a - b) for a, b in _both(accuracy("fedavg"), accuracy("pog"), runs)), default=None),
    )


def _mean(measure: Measure, runs: Sequence[FinishedRun]) -> float | None:
    found = measure.over(runs)
    return None if found is None else found.mean


def _least(measure: Measure, runs: Sequence[FinishedRun]) -> float | None:
    return min((value for run in runs if (value := measure.of(run)) is not None), default=None)


def _both(one: Measure, other: Measure, runs: Sequence[FinishedRun]) -> list[tuple[float, float]]:
    pairs = ((one.of(run), other.of(run)) for run in runs)
    return [(a, b) for a, b in pairs if a is not None and b is not None]
