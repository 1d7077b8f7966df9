"""The table of inputs, boxes or properties that a user gave, with what is proven of each."""

from fedcert.app.report.measurement_tables import proven_of
from fedcert.app.report.run_content import headline_radius
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Table, Value
from fedcert.app.report.words import noun, radius_name


def given_inputs(run: FinishedRun) -> Table | None:
    """Each property as a row, the least proven first; None where inputs were chosen from a data set.

    Args:
        run: the run.
    """
    if run.summary["inputs"]["chosen"] != "given":
        return None
    labelled = noun(run.summary) != "properties"
    columns = [
        Column("property"),
        *([Column("class")] if labelled else []),
        *(Column(f"{radius_name(run.summary)} {radius:g}", group="certified, %") for radius in run.radii),
        Column("attack"),
    ]
    claims = [run.strongest_at(radius) for radius in run.radii]
    order = run.radii.index(headline_radius(run.summary))
    rows: list[tuple[float, list[Value]]] = []
    for i, entry in enumerate(run.properties):
        proven = [proven_of(entry, claim) for claim in claims]
        label = [str(entry["label"])] if labelled else []
        attack = "succeeds" if entry["attacked"] else "fails"
        rows.append((float(proven[order].key or 0.0), [i, *label, *proven, attack]))
    caption = (
        "Proven bounds of the probability that the drawn model has the property, the least proven"
        " first. Attack:"
        " projected gradient descent on the posterior-mean model at the first radius; when it fails it proves"
        " nothing."
    )
    ranked = [row for _, row in sorted(rows, key=lambda own: own[0])]
    return Table("inputs", "Bounds by property", caption, columns, ranked)
