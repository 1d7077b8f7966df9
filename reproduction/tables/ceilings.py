"""The largest direct bound that one cell of the paper allows, in closed form, beside what was measured."""

from collections.abc import Sequence

from fedcert.app.report.measures import bound, estimate, ratio, spread
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Spread, Table, Value
from reproduction import paper
from reproduction.sampled_cell import deviation_of_mass, expected_mass, weights_of

WIDEST, NEXT = 7.0, 6.0  # of the paper's γ
INPUTS, CLASSES = 784, 10


def ceilings(runs: Sequence[FinishedRun]) -> list[Table]:
    """The expected mass of one cell for each architecture, beside direct bounds over MC–IBP.

    Args:
        runs: of a grid; only those of the paper's protocol at its scale count.
    """
    ours = [run for run in runs if run.scale == paper.SCALE and paper.follows_protocol(run)]
    shapes = {run.architecture: run.config["hidden"] for run in ours}
    rows = tuple(
        _row(name, hidden, ours) for name, hidden in shapes.items() if _share(name, ours) is not None
    )
    caption = (
        "One cell of half-width γσ around a draw has the expected mass (1 − erfc(γ/2))^n, n the number of"
        " weights. Direct bounds over MC–IBP: paper-box, FedAvg. Ours take the heaviest of 200 draws; the"
        " paper's largest share is that of a row in which every cell of every property is accepted."
    )
    columns = (
        Column("Arch."),
        Column("weights"),
        Column("γ = 6 (%)", group="expected mass of a cell"),
        Column("γ = 7 (%)", group="expected mass of a cell"),
        Column("largest (%)", group="paper, L^dir / MC–IBP"),
        Column("smallest (%)", group="paper, L^dir / MC–IBP"),
        Column("mean (%)", group="ours, L^dir / MC–IBP"),
    )
    return [Table("ceilings", "The mass of one cell", caption, columns, rows)] if rows else []


def _row(architecture: str, hidden: Sequence[int], runs: Sequence[FinishedRun]) -> tuple[Value, ...]:
    weights = weights_of([INPUTS, *hidden, CLASSES])
    shares = [100 * share for row, share in paper.direct_shares() if row.architecture == architecture]
    mass = Spread(100 * expected_mass(WIDEST, weights), 100 * deviation_of_mass(WIDEST, weights), 1)
    narrow = Spread(100 * expected_mass(NEXT, weights), 100 * deviation_of_mass(NEXT, weights), 1)
    extremes = [max(shares), min(shares)] if shares else [None, None]
    return (architecture, weights, narrow, mass, *extremes, _share(architecture, runs))


def _share(architecture: str, runs: Sequence[FinishedRun]) -> Spread | None:
    direct, accepted = bound("direct", "fedavg", "paper-box"), estimate("mc-ibp", "fedavg")
    return spread(
        share
        for run in runs
        if run.architecture == architecture
        and (certified := direct.of(run)) is not None
        and (sampled := accepted.of(run)) is not None
        and (share := ratio(100 * certified, sampled)) is not None
    )
