"""Certified probability and cost against the posterior scale, and against the number of clients."""

from collections.abc import Sequence

from fedcert.app.report.cells import Cell
from fedcert.app.report.grouping import (
    ARCHITECTURE,
    CLIENTS,
    CONCENTRATION,
    DATASET,
    SCALE,
    heading,
    spread_table,
    sweeps,
)
from fedcert.app.report.measures import EVENTS, Measure, bound, estimate, proving, stage, upper
from fedcert.app.report.table import Table

SCALES, COUNTS = 3, 4  # the fewest that make a sweep


def certified() -> list[Measure]:
    """What is known about FedAvg: bounds by events, then estimates."""
    bounds = [
        make(claim, "fedavg", events).under(events)
        for events in EVENTS
        for claim in ("transported", "direct")
        for make in (bound, upper)
    ]
    return [*bounds, estimate("mc-ibp", "fedavg"), estimate("attack-survival", "fedavg")]


def against_scale(cells: Sequence[Cell]) -> list[Table]:
    """Federations at three scales or more.

    Args:
        cells: of a grid.
    """
    chosen = [cell for group in sweeps(cells, "scale", SCALES) for cell in group]
    caption = "FedAvg at several posterior scales, all else equal; estimates are no bounds."
    table = heading("scales", "Certified probability against posterior scale", caption)
    return spread_table(table, chosen, [ARCHITECTURE, DATASET, CLIENTS, CONCENTRATION, SCALE], certified())


def against_clients(cells: Sequence[Cell]) -> list[Table]:
    """Federations with four numbers of clients or more.

    Args:
        cells: of a grid.
    """
    chosen = [cell for group in sweeps(cells, "clients", COUNTS) for cell in group]
    costs = [stage("Messages (s)", "messages"), *(proving(events) for events in EVENTS)]
    measures = [*certified(), *(cost.under("Cost") for cost in costs)]
    caption = "FedAvg with several numbers of clients, all else equal; estimates are no bounds."
    table = heading("clients", "Certified probability and cost against the number of clients", caption)
    return spread_table(table, chosen, [ARCHITECTURE, DATASET, SCALE, CONCENTRATION, CLIENTS], measures)
