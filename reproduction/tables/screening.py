"""What local screening costs: the same federations with cells that need not be safe locally."""

from collections.abc import Sequence

from fedcert.app.report.grouping import averaged, grouped
from fedcert.app.report.measures import bound
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Table, Value
from fedcert.app.report.words import DATASET_NAMES
from reproduction import paper

SCREENED = "paper-box, screened"
UNSCREENED = "paper-box, not screened"


def screening(runs: Sequence[FinishedRun]) -> list[Table]:
    """Transported bounds of the paper's cells with and without screening, beside those of boxes.

    Args:
        runs: of a grid; those of the paper's protocol that were run both ways count.
    """
    at_scale = [run for run in runs if run.scale == paper.SCALE]
    twins = {_place(run): run for run in at_scale if not run.config["screen"]}
    ours = [run for run in at_scale if _place(run) in twins and paper.follows_protocol(run)]
    rows = grouped(
        ours,
        lambda r: (r.architecture, DATASET_NAMES[r.dataset], r.clients, _group(r)),
    )
    transported = {events: bound("transported", "fedavg", events) for events in ("paper-box", "box")}
    columns = (
        *(Column(name) for name in ("Arch.", "Dataset", "Clients", "Heterogeneity", "Runs")),
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
            transported["paper-box"].over([twins[_place(run)] for run in members]),
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


def _group(run: FinishedRun) -> str:
    return paper.group_of(run.concentration) or "between"


def _place(run: FinishedRun) -> tuple[object, ...]:
    return run.dataset, run.architecture, run.clients, run.concentration, run.config["seed"]
