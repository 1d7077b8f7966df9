"""The tables of a run with measurements: its inputs as rows, and what is proven for each client's."""

from collections.abc import Sequence
from fractions import Fraction

from fedcert.app.records import Bound, Property, Row
from fedcert.app.report.bounds import Bounds
from fedcert.app.report.run_content import headline_radius
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Item, Table, Value, percent
from fedcert.app.report.words import CLASS_MEANINGS
from fedcert.app.result import claim_at
from fedcert.app.table_records import FeatureEntry
from fedcert_check.balls import mean_down, mean_up
from fedcert_check.features import decimal_down

VARYING, FIXED = "with an error", "all else"


def inputs(run: FinishedRun) -> Table | None:
    """Each input as a row, the least proven first: values, what may vary, class, bounds; None for images.

    Args:
        run: the run.
    """
    features = run.summary.get("features")
    if features is None:
        return None
    places = _varying_first(run)
    columns = [
        *map(Column, ("input", "client", "class")),
        *(Column(f"× {radius:g}", group="certified, %") for radius in run.radii),
        *(Column(_heading(features[i]), group="measured", view=view) for i, view in places),
        Column(f"attack × {run.epsilon:g}"),
    ]
    claims = [run.strongest_at(radius) for radius in run.radii]
    order = run.radii.index(headline_radius(run.summary))
    ranked = sorted(enumerate(run.properties), key=lambda own: _lower(own[1], claims[order]))
    meaning = CLASS_MEANINGS.get(run.dataset, "")
    caption = (
        "Each input with its values in units of measurement, ± the error of one measurement where there is"
        " one, and the proven bounds of the probability that the drawn model gives it its class wherever all"
        f" values are within so many errors. The least proven come first.{meaning}"
    )
    rows = [_row(i, entry, claims, [own for own, _ in places]) for i, entry in ranked]
    return Table("inputs", "Values and bounds", caption, columns, rows)


def by_client(run: FinishedRun) -> Table | None:
    """Accuracy and certified share of each client's test inputs; None where it is not known whose they are.

    Args:
        run: the run.
    """
    known = run.summary.get("accuracy_by_client")
    if known is None:
        return None
    columns = [
        *map(Column, ("client", "trained on", "test inputs")),
        Column("accuracy, %", 1),
        *(Column(f"× {radius:g}", group="certified, %") for radius in run.radii),
    ]
    trained = {client["client"]: client["examples"] for client in run.summary["clients"]}
    rows: list[list[Value]] = []
    for own in known:
        entries = [e for e in run.properties if "row" in e and e["row"]["client"] == own["client"]]
        bounds = [_together(entries, run.strongest_at(radius)) for radius in run.radii]
        count = trained.get(own["client"])
        rows.append([own["client"], count, own["examples"], percent(own["accuracy"]), *bounds])
    caption = (
        "Accuracy of the mean model of the deployed rule on each client’s own test inputs, and what is proven"
        " of the drawn model for those that are certified here. Whose an input is, is as the data say."
    )
    return Table("accuracy-by-client", "Accuracy by client", caption, columns, rows)


def _row(i: int, entry: Property, claims: Sequence[Row | None], places: Sequence[int]) -> list[Value]:
    row = entry["row"]
    place = entry["index"] if entry["index"] >= 0 else i
    return [
        place,
        row["client"],
        str(entry["label"]),
        *(proven_of(entry, claim) for claim in claims),
        *(_measurement(row["values"][j], row["errors"][j]) for j in places),
        "succeeds" if entry["attacked"] else "fails",
    ]


def proven_of(entry: Property, claim: Row | None) -> Item:
    """What a claim proves of one input, in per cent.

    Args:
        entry: the input.
        claim: of result.json; None for a dash.
    """
    return _item([_bound(entry, claim)])


def _varying_first(run: FinishedRun) -> list[tuple[int, str]]:
    """The place of each measurement, and with which others a page shows it: all together do not fit one."""
    errors = [entry["row"]["errors"] for entry in run.properties if "row" in entry]
    varies = [any(own) for own in zip(*errors, strict=True)]
    views = [(i, VARYING if own else FIXED) for i, own in enumerate(varies)]
    return sorted(views, key=lambda own: own[1] != VARYING)


def _heading(feature: FeatureEntry) -> str:
    return f"{feature['name']}, {feature['unit']}" if feature["unit"] else feature["name"]


def _measurement(value: float, error: float) -> Item:
    """A value, up to six digits, with its error, rounded down: it is what is proven of."""
    return Item(f"{value:.6g} ± {decimal_down(Fraction(error))}" if error else f"{value:.6g}", value)


def _together(entries: Sequence[Property], claim: Row | None) -> Item:
    return _item([_bound(entry, claim) for entry in entries])


def _item(bounds: Sequence[Bound | None]) -> Item:
    """The mean of some bounds, rounded outward."""
    known = [own for own in bounds if own is not None]
    if not known or len(known) < len(bounds):
        return Item("–", None)
    uppers = [own["upper"] for own in known if own["upper"] is not None]
    lower = mean_down([own["lower"] for own in known])
    upper = mean_up(uppers) if len(uppers) == len(known) else None
    shown = Bounds("", lower, upper, None)
    return Item(shown.text.removesuffix(" %"), lower)


def _bound(entry: Property, claim: Row | None) -> Bound | None:
    """What a claim says of one input."""
    if claim is None:
        return None
    return next(own for own in entry["bounds"] if claim_at(own) == claim_at(claim))


def _lower(entry: Property, claim: Row | None) -> float:
    own = _bound(entry, claim)
    return 0.0 if own is None else own["lower"]
