"""Figures of certified probability against a numeric setting, such as the posterior scale."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from fedcert.app.report.figures.curves import certified_panel, group_title, panels, selected, shared_legend
from fedcert.app.report.figures.style import GREY, picture, styled
from fedcert.app.report.overview import about
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.sweeps import MIN_VALUES, place, rule_names, sweep_name, sweeps, swept_settings, words

MAX_TICKS = 6  # maximum number of ticks under a panel
MIN_RANGE = 10.0  # minimum quotient of the largest and smallest values for a logarithmic axis


@styled
def sweep_figure(runs: Sequence[FinishedRun], setting: str, min_values: int = MIN_VALUES) -> list[Picture]:
    """A figure with one panel per federation that has enough values of a setting.

    Args:
        runs: the runs of a grid.
        setting: the setting that differs.
        min_values: the minimum number of values of the setting.
    """
    every = sweeps(runs, setting, min_values)
    groups = selected(every)
    if not groups:
        return []
    figure, axes = panels(groups, "probability of safety, %")
    for i, (panel, group) in enumerate(zip(axes, groups, strict=True)):
        _panel(panel, group, setting)
        group_title(panel, i, group, groups, setting)
    figure.supxlabel(words(setting).removeprefix("the "), fontsize=8)
    shared_legend(figure, 5)
    caption = (
        f"Certified probability under {rule_names(runs)} against {words(setting)}, by events. Lines are"
        " proven lower bounds, the band reaches to the proven upper bound; attack survival and MC–IBP are"
        f" estimates. Means over {about([run for group in groups for run in group])}."
        f" {len(groups)} of {len(every)} such federations are shown."
    )
    title = f"Certified probability against {words(setting)}"
    return [picture(figure, sweep_name(setting), title, caption)]


def sweep_figures(runs: Sequence[FinishedRun]) -> list[Picture]:
    """One figure for every setting that is swept over."""
    return [drawn for setting in swept_settings(runs) for drawn in sweep_figure(runs, setting)]


def horizontal_axis(axes: Axes, values: Sequence[float], learned: float | None = None) -> None:
    """Set one tick per value if they fit; otherwise powers of ten, if the values range over one or more.

    Args:
        axes: the panel.
        values: the values shown, all different, in ascending order.
        learned: the coordinate of learned scales, beyond all values; None if there are none.
    """
    last = values[-1] if learned is None else learned
    ticks = {value: f"{value:g}" for value in values} if len(values) <= MAX_TICKS else {}
    if values[0] > 0 and last / values[0] >= MIN_RANGE:
        axes.set_xscale("log")
        ticks = ticks or _powers_of_ten(values[0], values[-1])
    if learned is not None:
        ticks |= {learned: "learned"}
    if ticks:
        axes.set_xticks(list(ticks), list(ticks.values()))
    axes.xaxis.set_minor_locator(NullLocator())


def _panel(axes: Axes, group: Sequence[FinishedRun], setting: str) -> None:
    """Draw a sweep: numbers along the axis, and learned scales beyond its end."""
    numbers = [run for run in group if place(run, setting) < math.inf]
    learned = [run for run in group if place(run, setting) == math.inf]
    values = sorted({place(run, setting) for run in numbers})
    beyond = 10 * values[-1]
    certified_panel(axes, numbers, lambda run: place(run, setting))
    horizontal_axis(axes, values, beyond if learned else None)
    if learned:
        certified_panel(axes, learned, lambda run: beyond)
        axes.axvline(beyond / 10**0.5, color=GREY, linewidth=0.6, linestyle=":")


def _powers_of_ten(least: float, most: float) -> dict[float, str]:
    low, high = math.log10(least), math.log10(most)
    powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1, 1 + int(high - low) // MAX_TICKS)
    return {10.0**k: f"{10**k}" if 0 <= k <= 4 else f"$10^{{{k}}}$" for k in powers}
