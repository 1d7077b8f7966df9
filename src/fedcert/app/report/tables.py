"""The tables of any grid: every job, means by scale and claim, and seconds by stage."""

from collections.abc import Sequence

from fedcert.app.report.grouping import ARCHITECTURE, CLIENTS, DATASET, SCALE, spread_table
from fedcert.app.report.measures import Measure, families, proving, stage
from fedcert.app.report.overview import about, accuracy_by_scale, means_by_scale, typical
from fedcert.app.report.runs import FinishedRun, federations
from fedcert.app.report.table import Column, Item, Table, Value, percent
from fedcert.app.report.words import distinct, hidden, scale_name
from fedcert.app.stopwatch import duration

TRAINING = stage("Training (s)", "data", "training", "properties")
MESSAGES = stage("Messages (s)", "messages")
ESTIMATES = {"mc-ibp": "MC–IBP", "attack-survival": "survives attack"}
SAMPLING = stage("Monte Carlo (s)", "estimates")


def job_table(runs: Sequence[FinishedRun]) -> Table:
    """One row per job: its settings, accuracy, every bound in per cent, and seconds."""
    order = families(runs)
    kinds = ("direct", "transported")  # local claims come last
    claims = sorted(
        distinct(claim for run in runs for claim in run.claims),
        key=lambda claim: (order.index(claim[2]), [*kinds, claim[0]].index(claim[0])),
    )
    closed = {claim for run in runs for claim, row in run.claims.items() if row["upper"] is not None}
    columns = [*map(Column, ("data set", "hidden", "clients", "α", "scale", "seed"))]
    columns += [Column(name, group="accuracy, %") for name in ("all", "these")]
    for claim in claims:
        kind, rule, events = claim
        view = f"{events} · {kind} · {rule}"
        columns.append(Column(f"{kind} {rule} ≥", group=events, rounding="down", view=view))
        if claim in closed:
            columns.append(Column(f"{kind} {rule} ≤", group=events, rounding="up", view=view))
    sampled = [name for name in ESTIMATES if any(run.estimate(name) for run in runs)]
    columns += [Column(ESTIMATES[name], group="estimated") for name in sampled]
    columns.append(Column("seconds", 1))
    caption = (
        f"Bounds in %, mean over the properties of a job ({about(runs)}): lower bounds are rounded down,"
        " upper bounds up. Accuracy is that of the mean model, on all test inputs and on these; estimates are"
        " those of the deployed rule."
    )
    return Table(
        "jobs", "Every job", caption, columns, [_job_row(run, claims, closed, sampled) for run in runs]
    )


def _job_row(
    run: FinishedRun,
    claims: Sequence[tuple[str, str, str]],
    closed: set[tuple[str, str, str]],
    sampled: Sequence[str],
) -> list[Value]:
    config, drawn = run.config, run.config["concentration"]
    row: list[Value] = [
        Item(config["dataset"], config["dataset"], link=run.link),
        hidden(config),
        config["clients"],
        Item("–" if drawn is None else f"{drawn:g}", drawn),
        Item(scale_name(config["scale"]), float("inf") if config["scale"] == "learned" else config["scale"]),
        config["seed"],
        percent(run.summary["accuracy"]),
        percent(run.summary["inputs"]["accuracy"]),
    ]
    for claim in claims:
        proven = run.claims.get(claim)
        row.append(percent(None if proven is None else proven["lower"]))
        row += [percent(None if proven is None else proven["upper"])] if claim in closed else []
    estimates = (run.estimate(name).get(config["rule"]) for name in sampled)
    return [*row, *map(percent, estimates), float(sum(run.summary["timings"].values()))]


def means(runs: Sequence[FinishedRun]) -> Table:
    """What is proven of the deployed models at each scale, by events and claim."""
    columns = [
        Column("scale"),
        Column("events · claim"),
        Column("accuracy", 1),
        Column("at least", rounding="down"),
        Column("at most", rounding="up"),
        Column("attack"),
    ]
    accuracy = {name: percent(share) for name, share in accuracy_by_scale(runs).items()}
    rows = [
        [scale, mean.claim, accuracy[scale], percent(mean.lower), percent(mean.upper), percent(mean.survival)]
        for scale, each in means_by_scale(runs).items()
        for mean in each
    ]
    title = f"What is proven on the whole: {len(runs)} jobs, {len(federations(runs))} federations"
    caption = (
        "In %. At least, at most: proven bounds of the deployed rule, rounded outward. Attack: the share"
        f" that survives, an estimate. Means over {len(typical(runs))} jobs; {about(typical(runs))}."
    )
    return Table("means", title, caption, columns, rows)


def mean_tables(runs: Sequence[FinishedRun]) -> list[Table]:
    """The table of means; no table if nothing is proven."""
    return [table for table in [means(runs)] if table.rows] if runs else []


def times(runs: Sequence[FinishedRun], beside: Sequence[Measure] = (), note: str = "") -> list[Table]:
    """Seconds by stage.

    Args:
        runs: the runs of a grid.
        beside: further measures to show.
        note: an explanation of these measures, for the caption.
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
    """The total time of all runs by stage, in words."""
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
    words = ", ".join(f"{duration(seconds)} of {name}" for name, seconds in sums.items() if seconds)
    return f"All {len(runs)} runs together: {words}."
