"""Certified probability against the posterior scale."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from fedcert.app.report.cells import Cell
from fedcert.app.report.figures.curves import (
    certified_panel,
    group_title,
    panels,
    selected,
    shared_legend,
)
from fedcert.app.report.figures.style import GREY, picture, styled
from fedcert.app.report.grouping import numeric_scale, scale_name, sweeps
from fedcert.app.report.picture import Picture
from fedcert.app.report.tables.sweeps import SCALES


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
        _panel(place, group)
        group_title(place, i, group, groups, "scale")
    figure.supxlabel("posterior scale", fontsize=8)
    shared_legend(figure, 5)
    caption = (
        "Certified probability under FedAvg against the posterior scale, by events. Lines are proven lower"
        " bounds, the band reaches to the proven upper bound; attack survival and MC–IBP are estimates."
        f" {len(groups)} of {len(every)} such federations are shown."
    )
    return [picture(figure, "scales", "Certified probability against posterior scale", caption)]


def _panel(axes: Axes, group: Sequence[Cell]) -> None:
    """Fixed scales on a logarithmic axis, and the learned ones beyond its end."""
    fixed = [cell for cell in group if cell.scale != "learned"]
    learned = [cell for cell in group if cell.scale == "learned"]
    certified_panel(axes, fixed, numeric_scale)
    axes.set_xscale("log")
    values = sorted({numeric_scale(cell) for cell in fixed})
    ticks, labels = _ticks(values)
    if learned:
        beyond = 10 * values[-1]
        certified_panel(axes, learned, lambda cell: beyond)
        axes.axvline(beyond / 10**0.5, color=GREY, linewidth=0.6, linestyle=":")
        ticks, labels = [*ticks, beyond], [*labels, "learned"]
    axes.set_xticks(ticks, labels)
    axes.xaxis.set_minor_locator(NullLocator())


def _ticks(scales: Sequence[float]) -> tuple[list[float], list[str]]:
    """Powers of ten, not too many of them; the scales themselves where that is too few."""
    least, most = math.log10(scales[0]), math.log10(scales[-1])
    decades = range(math.ceil(least - 1e-9), math.floor(most + 1e-9) + 1, 1 + int(most - least) // 6)
    if len(decades) < 2:
        return list(scales), [scale_name(scale) for scale in scales]
    return [10.0**k for k in decades], [f"$10^{{{k}}}$" for k in decades]
