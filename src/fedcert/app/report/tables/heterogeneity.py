"""The paper's Table 2, in its own grouping of concentrations, for every family of events and both scales."""

from collections.abc import Sequence

from fedcert.app.report import paper
from fedcert.app.report.cells import Cell
from fedcert.app.report.grouping import (
    ARCHITECTURE,
    CLIENTS,
    DATASET,
    Key,
    heading,
    scale_name,
    spread_table,
)
from fedcert.app.report.measures import (
    EVENTS,
    LAW_NAMES,
    Measure,
    accuracy,
    bound,
    estimate,
    law_seconds,
    upper,
)
from fedcert.app.report.table import Column, Table

GROUP = Key(Column("Heterogeneity"), lambda cell: paper.group_of(cell.concentration))
GROUPING = (
    "Non-IID are the concentrations 0.5, 0.6 and 0.7, IID are 5, 7 and 10: the paper's entries are means of"
    " three configurations."
)
MEANING = (
    "L are proven lower bounds, rounded down, and U upper ones, rounded up; MC–IBP and survival of attacks"
    " are estimates. Time is that of training, messages and the law's claims; Monte Carlo is in the table of"
    " times. Local bounds are about the clients' own models and the same under both laws."
)
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
    return [measure.under(LAW_NAMES[law]) for measure in measures]


def grouped_tables(cells: Sequence[Cell]) -> list[Table]:
    """Table 2 at the paper's scale and at the learned one, with each family of events.

    Args:
        cells: of a grid.
    """
    return [
        table
        for scale in (paper.SCALE, "learned")
        for events in EVENTS
        for table in grouped_table(cells, scale, events)
    ]


def grouped_table(cells: Sequence[Cell], scale: float | str, events: str) -> list[Table]:
    """Table 2 with one family of events; with the paper's own, its columns and no others.

    Args:
        cells: of a grid.
        scale: of the posteriors.
        events: the family of events.
    """
    papers = scale == paper.SCALE and events == "paper-box"
    chosen = [
        cell
        for cell in cells
        if cell.scale == scale
        and paper.group_of(cell.concentration) is not None
        and any(family == events for _, _, family in cell.lower)
    ]
    survival = [estimate("attack-survival", law).under(LAW_NAMES[law]) for law in paper.LAWS]
    measures = [
        measure
        for i, law in enumerate(paper.LAWS)
        for measure in [*law_measures(law, events), *([] if papers else [survival[i]])]
    ]
    name = "table2" if papers else f"table2-{events}-{scale_name(scale)}"
    posterior = "learned posterior scales" if scale == "learned" else f"posterior scale {scale_name(scale)}"
    title = f"PoG and FedAvg under heterogeneity: {FAMILIES[events]}, {posterior}"
    keys = [ARCHITECTURE, DATASET, CLIENTS, GROUP]
    return spread_table(heading(name, title, f"{GROUPING} {MEANING}"), chosen, keys, measures)


def between(cells: Sequence[Cell]) -> list[Table]:
    """The concentrations that belong to neither group, at each of the two scales.

    Args:
        cells: of a grid.
    """
    measures = [
        measure.under("FedAvg")
        for measure in (
            accuracy("fedavg"),
            estimate("mc-ibp", "fedavg"),
            estimate("attack-survival", "fedavg"),
        )
    ] + [
        bound(claim, "fedavg", events).under(events)
        for events in EVENTS
        for claim in ("local", "transported", "direct")
    ]
    tables = []
    for scale in (paper.SCALE, "learned"):
        chosen = [cell for cell in cells if cell.scale == scale and cell.concentration in paper.BETWEEN]
        title = f"Concentrations between the groups, scale {scale_name(scale)}"
        caption = "Concentrations 0.9, 1 and 2, which we count as neither Non-IID nor IID."
        table = heading(f"between-{scale_name(scale)}", title, caption)
        tables += spread_table(table, chosen, [ARCHITECTURE, DATASET, CLIENTS], measures)
    return tables
