"""The largest direct bound that one cell of the paper allows, in closed form, beside what was measured."""

from collections.abc import Sequence

from fedcert.app.report import paper
from fedcert.app.report.cells import Cell
from fedcert.app.report.measures import bound, estimate, ratio, spread
from fedcert.app.report.sampled_cell import deviation_of_mass, expected_mass, weights_of
from fedcert.app.report.table import Column, Spread, Table, Value

WIDEST, NEXT = 7.0, 6.0  # of the paper's γ
INPUTS, CLASSES = 784, 10


def ceilings(cells: Sequence[Cell]) -> list[Table]:
    """The expected mass of one cell for each architecture, beside direct bounds over MC–IBP.

    Args:
        cells: of a grid; only those of the paper's protocol at its scale count.
    """
    ours = [cell for cell in cells if cell.scale == paper.SCALE and paper.follows_protocol(cell)]
    shapes = {cell.architecture: cell.hidden for cell in ours}
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


def _row(architecture: str, hidden: Sequence[int], cells: Sequence[Cell]) -> tuple[Value, ...]:
    weights = weights_of([INPUTS, *hidden, CLASSES])
    shares = [100 * share for row, share in paper.direct_shares() if row.architecture == architecture]
    mass = Spread(100 * expected_mass(WIDEST, weights), 100 * deviation_of_mass(WIDEST, weights), 1)
    narrow = Spread(100 * expected_mass(NEXT, weights), 100 * deviation_of_mass(NEXT, weights), 1)
    extremes = [max(shares), min(shares)] if shares else [None, None]
    return (architecture, weights, narrow, mass, *extremes, _share(architecture, cells))


def _share(architecture: str, cells: Sequence[Cell]) -> Spread | None:
    direct, accepted = bound("direct", "fedavg", "paper-box"), estimate("mc-ibp", "fedavg")
    return spread(
        share
        for cell in cells
        if cell.architecture == architecture
        and (certified := direct.of(cell)) is not None
        and (sampled := accepted.of(cell)) is not None
        and (share := ratio(100 * certified, sampled)) is not None
    )
