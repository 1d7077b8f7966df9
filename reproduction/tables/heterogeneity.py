"""The paper's Table 2, in its own grouping of concentrations, for every family of events and both scales."""

from collections.abc import Sequence

from fedcert.app.report.grouping import ARCHITECTURE, CLIENTS, DATASET, Key, spread_table
from fedcert.app.report.measures import Measure, accuracy, bound, estimate, upper
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Table
from fedcert.app.report.words import RULE_NAMES, scale_name
from reproduction import paper
from reproduction.measures import law_seconds

GROUP = Key(Column("Heterogeneity"), lambda run: paper.group_of(run.concentration))
GROUPING = (
    "Non-IID are the concentrations 0.5, 0.6 and 0.7, IID are 5, 7 and 10: the paper's entries are means of"
    " three configurations."
)
MEANING = (
    "L are proven lower bounds, rounded down, and U upper ones, rounded up; MC–IBP and survival of attacks"
    " are estimates. Time is that of training, messages and the law's claims; Monte Carlo is in the table of"
    " times. Local bounds are about the clients' own models and the same under both laws."
)
STUDY = "PoG and FedAvg under heterogeneity"
BETWEEN = "Concentrations between the groups"
FAMILIES = {
    "paper-box": "the paper's events",
    "box": "one box around each posterior mean",
    "projected": "projected events",
}


def law_measures(law: str, events: str) -> list[Measure]:
    """The paper's columns for a law.

    Args:
        law: pog or fedavg.
        events: the family of events.
    """
    transported = [bound("transported", law, events), upper("transported", law, events)]
    measures = [
        accuracy(law),
        bound("local", law, events),
        *(transported if law == "fedavg" else []),
        bound("direct", law, events),
        upper("direct", law, events),
        estimate("mc-ibp", law),
        law_seconds(law, events),
    ]
    return [measure.under(RULE_NAMES[law]).shown_in(RULE_NAMES[law]) for measure in measures]


def grouped_tables(runs: Sequence[FinishedRun]) -> list[Table]:
    """Table 2 at the paper's scale and at the learned one, with each family of events."""
    return [
        table
        for scale in (paper.SCALE, "learned")
        for events in reversed(paper.EVENTS)
        for table in grouped_table(runs, scale, events)
    ]


def grouped_table(runs: Sequence[FinishedRun], scale: float | str, events: str) -> list[Table]:
    """Table 2 with one family of events; with the paper's own, its columns and no others.

    Args:
        runs: of a grid.
        scale: of the posteriors.
        events: the family of events.
    """
    papers = scale == paper.SCALE and events == "paper-box"
    chosen = [
        run
        for run in runs
        if run.scale == scale
        and paper.group_of(run.concentration) is not None
        and any(family == events for _, _, family in run.claims)
    ]
    survival = [
        estimate("attack-survival", law).under(RULE_NAMES[law]).shown_in(RULE_NAMES[law])
        for law in paper.LAWS
    ]
    measures = [
        measure
        for i, law in enumerate(paper.LAWS)
        for measure in [*law_measures(law, events), *([] if papers else [survival[i]])]
    ]
    name = "table2" if papers else f"table2-{events}-{scale_name(scale)}"
    posterior = "learned posterior scales" if scale == "learned" else f"posterior scale {scale_name(scale)}"
    title = f"{STUDY}: {FAMILIES[events]}, {posterior}"
    keys = [ARCHITECTURE, DATASET, CLIENTS, GROUP]
    choice = f"{FAMILIES[events]}, {posterior}"
    table = Table(name, title, f"{GROUPING} {MEANING}", study=STUDY, choice=choice)
    return spread_table(table, chosen, keys, measures)


def between(runs: Sequence[FinishedRun]) -> list[Table]:
    """The concentrations that belong to neither group, at each of the two scales."""
    estimates = estimate("mc-ibp", "fedavg"), estimate("attack-survival", "fedavg")
    bounds = [
        bound(claim, "fedavg", events).under(events).shown_in(events)
        for events in reversed(paper.EVENTS)
        for claim in ("local", "transported", "direct")
    ]
    measures = [*(measure.under("FedAvg") for measure in (accuracy("fedavg"), *estimates)), *bounds]
    tables = []
    for scale in (paper.SCALE, "learned"):
        chosen = [run for run in runs if run.scale == scale and run.concentration in paper.BETWEEN]
        choice = f"scale {scale_name(scale)}"
        title = f"{BETWEEN}, {choice}"
        caption = "Concentrations 0.9, 1 and 2, which we count as neither Non-IID nor IID."
        table = Table(f"between-{scale_name(scale)}", title, caption, study=BETWEEN, choice=choice)
        tables += spread_table(table, chosen, [ARCHITECTURE, DATASET, CLIENTS], measures)
    return tables
