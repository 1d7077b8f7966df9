"""The bound hierarchy: local, transported and direct bounds and MC–IBP, by dataset and architecture."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from fedcert.app.report.figures.curves import pair_name, scale_words
from fedcert.app.report.figures.style import (
    BLUE,
    GREY,
    ORANGE,
    SKY,
    TWO_COLUMNS,
    canvas,
    letter,
    percent_axis,
    picture,
    styled,
)
from fedcert.app.report.grouping import grouped, pair
from fedcert.app.report.measures import bound, estimate
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun
from reproduction import paper

BARS = {  # quantity: label, colour, hatch
    "local": (r"$L^{\mathrm{loc}}$", SKY, ""),
    "transported": (r"$L^{\mathrm{tr}}$", ORANGE, "////"),
    "direct": (r"$L^{\mathrm{dir}}$", BLUE, ""),
    "mc_ibp": ("MC–IBP", "white", ""),
}
MAX_NARROW = 3  # pairs in a narrow panel
Heights = Mapping[tuple[str, str], Mapping[str, float]]  # by pair and quantity


@styled
def hierarchy(runs: Sequence[FinishedRun]) -> list[Picture]:
    """Grouped bars under FedAvg: ours for each family of events, and the paper's own."""
    chosen = [run for run in runs if paper.in_papers_table(run)]
    panels: list[tuple[str, Heights]] = [
        (f"ours, {events}", found) for events in paper.EVENTS if (found := our_heights(chosen, events))
    ]
    if not panels:
        return []
    known = set(map(pair, chosen))
    theirs = {of: heights for of, heights in paper_heights().items() if of in known}
    panels.insert(1, ("the paper's Table 2", theirs))
    wide = max(len(heights) for _, heights in panels) > MAX_NARROW
    across = min(len(panels), 2 if wide or len(panels) > 3 else 3)
    down = -(-len(panels) // across)
    figure = canvas(TWO_COLUMNS, 0.5 + 2.0 * down)
    axes = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    for spare in axes[len(panels) :]:
        figure.delaxes(spare)
    for i, (place, (title, heights)) in enumerate(zip(figure.axes, panels, strict=True)):
        _bars(place, heights)
        letter(place, i, title)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(BARS))
    for place in figure.axes[::across]:
        place.set_ylabel("probability, %")
    caption = (
        "FedAvg bound hierarchy over dataset–architecture pairs: means of the local, transported and direct"
        f" bounds and of MC–IBP, an estimate. Ours: {len(chosen)} federations, {scale_words(chosen)}."
    )
    return [picture(figure, "hierarchy", "Bound hierarchy under FedAvg", caption)]


def our_heights(runs: Sequence[FinishedRun], events: str) -> Heights:
    """Means by pair and quantity, of the pairs with bounds of these events.

    Args:
        runs: to be averaged.
        events: the family of events.
    """
    measures = {claim: bound(claim, "fedavg", events) for claim in ("local", "transported", "direct")} | {
        "mc_ibp": estimate("mc-ibp", "fedavg")
    }
    known = [run for run in runs if ("direct", "fedavg", events) in run.claims]
    return {
        of: {name: found.mean for name, measure in measures.items() if (found := measure.over(members))}
        for of, members in grouped(known, pair).items()
    }


def paper_heights() -> Heights:
    """Means of the paper's rows, pooled by pair."""
    return {
        of: {name: paper.pooled_column(paper.rows_of(*of), "fedavg", name).mean for name in BARS}
        for of in paper.pairs()
    }


def _bars(axes: Axes, heights: Heights) -> None:
    places = np.arange(len(heights))
    width = 0.8 / len(BARS)
    for k, (name, (label, colour, hatch)) in enumerate(BARS.items()):
        values = [of_pair.get(name, 0.0) for of_pair in heights.values()]
        at = places + (k - (len(BARS) - 1) / 2) * width
        axes.bar(at, values, width, label=label, color=colour, hatch=hatch, edgecolor="black", linewidth=0.5)
        for x, value in zip(at, values, strict=True):
            if value < 1:
                axes.text(x, value + 1, f"{value:.1f}", ha="center", fontsize=5, color=GREY)
    axes.set_xticks(places, [pair_name(of, "\n") for of in heights])
    axes.tick_params(axis="x", length=0)
    percent_axis(axes)
