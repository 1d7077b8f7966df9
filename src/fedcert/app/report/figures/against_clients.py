"""Certified probability, and its cost, against the number of clients."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator

from fedcert.app.report.cells import Cell
from fedcert.app.report.figures.curves import (
    certified_panel,
    group_title,
    panels,
    points,
    selected,
    shared_legend,
)
from fedcert.app.report.figures.style import FAMILY, GREY, PURPLE, picture, styled
from fedcert.app.report.grouping import sweeps
from fedcert.app.report.measures import EVENTS, proving, stage
from fedcert.app.report.picture import Picture
from fedcert.app.report.tables.sweeps import COUNTS

FEW = 6  # numbers that fit under a panel
PAPER_BOX = "paper-box"  # only its cells are made by the clients


@styled
def against_clients(cells: Sequence[Cell]) -> list[Picture]:
    """A panel for each setting with four numbers of clients or more.

    Args:
        cells: of a grid.
    """
    groups = selected(sweeps(cells, "clients", COUNTS))
    if not groups:
        return []
    figure, axes = panels(groups, "probability of safety, %")
    for i, (place, group) in enumerate(zip(axes, groups, strict=True)):
        certified_panel(place, group, _clients)
        _logarithmic(place, group)
        group_title(place, i, group, groups, "clients")
    figure.supxlabel("clients", fontsize=8)
    shared_legend(figure, 5)
    caption = (
        "Certified probability under FedAvg against the number of clients, by events. Lines are proven lower"
        " bounds, the band reaches to the proven upper bound; attack survival and MC–IBP are estimates."
    )
    return [picture(figure, "clients", "Certified probability against the number of clients", caption)]


@styled
def cost(cells: Sequence[Cell]) -> list[Picture]:
    """Seconds of each stage against the number of clients.

    Args:
        cells: of a grid.
    """
    groups = selected(sweeps(cells, "clients", COUNTS))
    if not groups:
        return []
    figure, axes = panels(groups, "seconds")
    for i, (place, group) in enumerate(zip(axes, groups, strict=True)):
        for events in EVENTS:
            colour, marker = FAMILY[events]
            place.plot(*points(group, proving(events), _clients), color=colour, marker=marker,
                       label=f"claims, {events}")  # fmt: skip
        for heading, name, colour, marker, line in (
            ("training", "training", GREY, "x", ":"),
            ("messages (the paper's cells)", "messages", PURPLE, "v", "--"),
            ("Monte Carlo", "estimates", "black", "+", "-."),
        ):
            having = [cell for cell in group if name != "messages" or PAPER_BOX in cell.config["events"]]
            spent = points(having, stage(heading, name), _clients)
            place.plot(*spent, color=colour, marker=marker, linestyle=line, label=heading)
        _logarithmic(place, group)
        place.set_yscale("log")
        place.grid()
        group_title(place, i, group, groups, "clients")
    figure.supxlabel("clients", fontsize=8)
    shared_legend(figure, 3)
    caption = (
        "Seconds of a run against the number of clients: claims of each family of events under both laws,"
        " training, the clients' messages and Monte Carlo. Both axes are logarithmic."
    )
    return [picture(figure, "cost", "Cost against the number of clients", caption)]


def _logarithmic(axes: Axes, group: Sequence[Cell]) -> None:
    """A tick for each number of clients where there is room, else for each power of ten."""
    counts = sorted({cell.clients for cell in group})
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    if len(counts) <= FEW:
        axes.set_xticks(counts)
        axes.xaxis.set_minor_locator(NullLocator())


def _clients(cell: Cell) -> float:
    return float(cell.clients)
