"""What local screening costs: the same federations with cells that need not be safe locally."""

from collections.abc import Sequence

from fedcert.app.report import paper
from fedcert.app.report.cells import Cell
from fedcert.app.report.grouping import NAMES, averaged, grouped
from fedcert.app.report.measures import bound
from fedcert.app.report.table import Column, Table, Value

SCREENED = "paper-box, screened"
UNSCREENED = "paper-box, not screened"


def screening(cells: Sequence[Cell]) -> list[Table]:
    """Transported bounds of the paper's cells with and without screening, beside those of boxes.

    Args:
        cells: of a grid; those of the paper's protocol that were run both ways count.
    """
    at_scale = [cell for cell in cells if cell.scale == paper.SCALE]
    twins = {_place(cell): cell for cell in at_scale if not cell.config["screen"]}
    ours = [cell for cell in at_scale if _place(cell) in twins and paper.follows_protocol(cell)]
    rows = grouped(
        ours,
        lambda c: (c.architecture, NAMES[c.dataset], c.clients, paper.group_of(c.concentration) or "between"),
    )
    transported = {events: bound("transported", "fedavg", events) for events in ("paper-box", "box")}
    columns = (
        *(Column(name) for name in ("Arch.", "Dataset", "Clients", "Heterogeneity", "Cells")),
        Column("L^tr (%)", group=SCREENED, rounding="down"),
        Column("L^tr (%)", group=UNSCREENED, rounding="down"),
        Column("L^tr (%)", group="box", rounding="down"),
        Column("L^dir (%)", group=SCREENED, rounding="down"),
    )
    body: list[tuple[Value, ...]] = [
        (
            *key,
            len(members),
            transported["paper-box"].over(members),
            transported["paper-box"].over([twins[_place(cell)] for cell in members]),
            transported["box"].over(members),
            bound("direct", "fedavg", "paper-box").over(members),
        )
        for key, members in rows.items()
    ]
    caption = (
        "Transported bounds of FedAvg at the paper's scale. Screening keeps only cells that are safe for the"
        f" client's own model; the image under FedAvg is verified in either case. {averaged(ours)}"
    )
    return [Table("screening", "What screening costs", caption, columns, tuple(body))] if body else []


def _group(cell: Cell) -> str:
    return paper.group_of(cell.concentration) or "between"


def _place(cell: Cell) -> tuple[object, ...]:
    return cell.dataset, cell.hidden, cell.clients, cell.concentration, cell.seed
