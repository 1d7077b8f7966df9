"""Certified probability against the posterior scale."""

from collections.abc import Sequence
from functools import partial

from fedcert.experiments.report.cells import Cell
from fedcert.experiments.report.figures.curves import (
    certified_panel,
    group_title,
    panels,
    selected,
    shared_legend,
)
from fedcert.experiments.report.figures.style import GREY, picture, styled
from fedcert.experiments.report.grouping import sweeps
from fedcert.experiments.report.picture import Picture
from fedcert.experiments.report.tables.sweeps import SCALES


@styled
def against_scale(cells: Sequence[Cell]) -> list[Picture]:
    """A panel for each federation at three scales or more.

    Args:
        cells: of a grid.
    """
    every = sweeps(cells, "scale", SCALES)
    groups = selected(every)
    if not groups:
        return []
    figure, axes = panels(groups, "probability of safety, %")
    for i, (place, group) in enumerate(zip(axes, groups, strict=True)):
        beyond = 10 * max((float(cell.scale) for cell in group if cell.scale != "learned"), default=1.0)
        certified_panel(place, group, partial(_scale, beyond))
        place.set_xscale("log")
        if any(cell.scale == "learned" for cell in group):
            place.axvline(beyond / 3, color=GREY, linewidth=0.6, linestyle=":")
            place.text(beyond, -0.02, "learned", ha="center", va="top", fontsize=7,
                       transform=place.get_xaxis_transform())  # fmt: skip
        group_title(place, i, group, groups, "scale")
    figure.supxlabel("posterior scale", fontsize=8)
    shared_legend(figure, 5)
    caption = (
        "Certified probability under FedAvg against the posterior scale, by events. Lines are proven lower"
        " bounds, the band reaches to the proven upper bound; attack survival and MC–IBP are estimates."
        f" {len(groups)} of {len(every)} such federations are shown."
    )
    return [picture(figure, "scales", "Certified probability against posterior scale", caption)]


def _scale(learned: float, cell: Cell) -> float:
    """The horizontal place of a cell; learned scales have one of their own."""
    return learned if cell.scale == "learned" else float(cell.scale)
