"""The tables of any grid: every job, means by scale and claim, and where the time goes."""

from collections.abc import Sequence

from fedcert.app.report.grouping import ARCHITECTURE, CLIENTS, DATASET, SCALE, spread_table
from fedcert.app.report.measures import Measure, families, proving, stage
from fedcert.app.report.overview import means_by_scale, typical
from fedcert.app.report.runs import FinishedRun, federations
from fedcert.app.report.table import Column, Item, Table, Value, percent
from fedcert.app.report.words import distinct, hidden, scale_name

TRAINING = stage("Training (s)", "data", "training", "properties")
MESSAGES = stage("Messages (s)", "messages")
SAMPLING = stage("Monte Carlo (s)", "estimates")


def job_table(runs: Sequence[FinishedRun]) -> Table:
    """A row for each job: its setting, accuracy, every bound in per cent, and seconds."""
    claims = distinct(claim for run in runs for claim in run.claims)
    closed = {claim for run in runs for claim, row in run.claims.items() if row["upper"] is not None}
    columns = [*map(Column, ("data set", "hidden", "clients", "α", "scale", "seed", "accuracy, %"))]
    for claim in claims:
        kind, rule, events = claim
        columns.append(Column(f"{kind} {rule} ≥", group=events, rounding="down"))
        columns += [Column(f"{kind} {rule} ≤", group=events, rounding="up")] if claim in closed else []
    columns += [Column(name, group="estimated") for name in ("MC–IBP", "survives attack")]
    columns.append(Column("seconds", 1))
    caption = (
        "Bounds in %, mean over the properties of a job: lower bounds are rounded down, upper bounds up."
        " Estimates are those of the deployed rule."
    )
    return Table("jobs", "Every job", caption, columns, [_job_row(run, claims, closed) for run in runs])


def _job_row(
    run: FinishedRun, claims: Sequence[tuple[str, str, str]], closed: set[tuple[str, str, str]]
) -> list[Value]:
    config = run.config
    row: list[Value] = [
        Item(config["dataset"], config["dataset"], link=run.link),
        hidden(config),
        config["clients"],
        Item(f"{config['concentration']:g}", config["concentration"]),
        Item(scale_name(config["scale"]), float("inf") if config["scale"] == "learned" else config["scale"]),
        config["seed"],
        percent(run.summary["accuracy"]),
    ]
    for claim in claims:
        proven = run.claims.get(claim)
        row.append(percent(None if proven is None else proven["lower"]))
        row += [percent(None if proven is None else proven["upper"])] if claim in closed else []
    estimates = (run.estimate(name).get(config["rule"]) for name in ("mc-ibp", "attack-survival"))
    return [*row, *map(percent, estimates), float(sum(run.summary["timings"].values()))]


def means(runs: Sequence[FinishedRun]) -> Table:
    """What is proven of the deployed models at each scale, by events and claim."""
    columns = [
        Column("scale"),
        Column("events · claim"),
        Column("at least, %", rounding="down"),
        Column("at most, %", rounding="up"),
        Column("attack, %"),
    ]
    rows = [
        [scale, mean.claim, percent(mean.lower), percent(mean.upper), percent(mean.survival)]
        for scale, each in means_by_scale(runs).items()
        for mean in each
    ]
    title = f"What is proven on the whole: {len(runs)} jobs, {len(federations(runs))} federations"
    caption = (
        "At least, at most: proven bounds of the deployed rule, rounded outward. Attack: the share that"
        f" survives, an estimate. Means over {len(typical(runs))} jobs."
    )
    return Table("means", title, caption, columns, rows)


def mean_tables(runs: Sequence[FinishedRun]) -> list[Table]:
    """The table of means, where something is proven."""
    return [table for table in [means(runs)] if table.rows] if runs else []


def times(runs: Sequence[FinishedRun], beside: Sequence[Measure] = (), note: str = "") -> list[Table]:
    """Seconds by stage.

    Args:
        runs: of a grid.
        beside: what else is shown.
        note: what it means.
    """
    claims = [proving(events) for events in families(runs)]
    measures = [TRAINING, MESSAGES, *(each.under("Claims") for each in claims), SAMPLING, *beside]
    caption = (
        "Seconds of one run: data, training and properties; the clients' messages; all claims of a family of"
        " events, under every rule; all Monte Carlo estimates. Clients that several runs share are trained"
        f" once, and shown with each. {note}{' ' if note else ''}{totals(runs)}"
    )
    table = Table("times", "Where the time goes", caption)
    return spread_table(table, runs, [ARCHITECTURE, DATASET, CLIENTS, SCALE], measures)


def totals(runs: Sequence[FinishedRun]) -> str:
    """All seconds together, in words."""
    parts = {
        "training": TRAINING,
        "messages": MESSAGES,
        **{f"{events} claims": proving(events) for events in families(runs)},
        "Monte Carlo": SAMPLING,
    }
    once = federations(runs)
    sums = {
        name: sum(part.of(run) or 0.0 for run in (once if part is TRAINING else runs))
        for name, part in parts.items()
    }
    words = ", ".join(f"{seconds / 60:.1f} min of {name}" for name, seconds in sums.items() if seconds)
    return f"All {len(runs)} runs together: {words}."
