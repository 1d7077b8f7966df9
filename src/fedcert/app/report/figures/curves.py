"""Panels of curves over one axis, one curve per family of events and kind of claim."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedcert.app.report.figures.style import (
    BLACK,
    GREY,
    TWO_COLUMNS,
    canvas,
    family_looks,
    letter,
    percent_axis,
)
from fedcert.app.report.grouping import distinguishing, grouped, pair
from fedcert.app.report.measures import Measure, bound, estimate, families, upper
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.words import DATASET_NAMES, scale_name

MAX_PANELS = 6  # maximum number of panels in a figure; the tables show all sweeps


def pair_name(of: tuple[str, str], between: str = " ") -> str:
    """Data set and architecture in a few letters.

    >>> pair_name(("fashion-mnist", "1×64"))
    'FMNIST 1×64'
    """
    return f"{DATASET_NAMES.get(of[0], of[0]).replace('Fashion-', 'F')}{between}{of[1]}"


def scale_words(runs: Sequence[FinishedRun]) -> str:
    """The posterior scales of some runs, for a caption."""
    names = dict.fromkeys(scale_name(run.scale) for run in runs)
    return "learned scale" if list(names) == ["learned"] else f"scale {', '.join(names)}"


def panels(
    groups: Sequence[Sequence[FinishedRun]], label: str, height: float = 2.2
) -> tuple[Figure, list[Axes]]:
    """A figure with one panel per group of runs.

    Args:
        groups: the sweeps, one per panel.
        label: the label of the vertical axes.
        height: the height of a row of panels, in inches.
    """
    across = 2 if len(groups) in {2, 4} else min(3, len(groups))
    down = -(-len(groups) // across)
    figure = canvas(TWO_COLUMNS, 0.75 + height * down)
    axes = list(figure.subplots(down, across, squeeze=False, sharey=True).flat)
    for spare in axes[len(groups) :]:
        figure.delaxes(spare)
    for place in axes[::across]:
        place.set_ylabel(label)
    return figure, axes[: len(groups)]


def points(
    runs: Sequence[FinishedRun], measure: Measure, place: Callable[[FinishedRun], float]
) -> tuple[list[float], list[float]]:
    """The coordinates at which a measure is known, and its means over seeds.

    Args:
        runs: the runs of one sweep.
        measure: the measure to show.
        place: the horizontal coordinate of a run.
    """
    known = {
        x: found.mean
        for x, members in sorted(grouped(runs, place).items())
        if (found := measure.over(members)) is not None
    }
    return list(known), list(known.values())


def certified_panel(axes: Axes, runs: Sequence[FinishedRun], place: Callable[[FinishedRun], float]) -> None:
    """Draw direct and transported bounds by events, the band up to the upper bound, and the estimates.

    Args:
        axes: the panel to draw in.
        runs: the runs of one sweep.
        place: the horizontal coordinate of a run.
    """
    for events, (colour, marker) in family_looks(families(runs)).items():
        direct = points(runs, bound("direct", None, events), place)
        transported = points(runs, bound("transported", None, events), place)
        above = dict(zip(*points(runs, upper("direct", None, events), place), strict=True))
        axes.plot(*direct, color=colour, marker=marker, label=f"{events}, direct")
        axes.plot(*transported, color=colour, marker=marker, markerfacecolor="white", linestyle="--",
                  label=f"{events}, transported")  # fmt: skip
        band = [(x, low, above[x]) for x, low in zip(*direct, strict=True) if x in above]
        if band:
            places, lows, highs = zip(*band, strict=True)
            axes.fill_between(places, lows, highs, color=colour, alpha=0.2, lw=0, label="[L, U], direct")
            if len(band) == 1:
                axes.vlines(places, lows, highs, color=colour, alpha=0.2, linewidth=6)
    survival = points(runs, estimate("attack-survival", None), place)
    sampled = points(runs, estimate("mc-ibp", None), place)
    axes.plot(*survival, color=BLACK, marker="*", markersize=5, linestyle="", label="attack survival")
    axes.plot(*sampled, color=GREY, marker="x", linestyle="", label="MC–IBP")
    percent_axis(axes)
    axes.set_ylim(bottom=-2)  # markers at 0 are not cut off


def group_title(
    axes: Axes, i: int, group: Sequence[FinishedRun], groups: Sequence[Sequence[FinishedRun]], swept: str
) -> None:
    """Set a panel's title: what tells its runs from those of the other panels.

    Args:
        axes: the panel.
        i: the index of the panel.
        group: the runs of the panel.
        groups: the runs of all panels.
        swept: the setting that the panel sweeps over.
    """
    first = group[0]
    federation = {
        "scale": scale_words(group),
        "clients": f"{first.clients} clients",
        "concentration": f"concentration {first.concentration:g}",
    }
    words = [pair_name(pair(first)), ", ".join(text for name, text in federation.items() if name != swept)]
    settings = distinguishing([members[0] for members in groups], swept)
    words += [", ".join(f"{key.column.name} {key.of(first)}" for key in settings)] if settings else []
    letter(axes, i, "\n".join(words))


def shared_legend(figure: Figure, columns: int) -> None:
    """Draw one legend for all panels: above them, or to the right if there is only one.

    Args:
        figure: the figure with its panels.
        columns: the number of columns of a legend above the panels.
    """
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if _drawn(handle):
                entries.setdefault(label, handle)
    alone = len(figure.axes) == 1
    place: Literal["outside right center", "outside upper center"]
    place = "outside right center" if alone else "outside upper center"
    figure.legend(list(entries.values()), list(entries), loc=place, ncols=1 if alone else columns)


def selected(groups: Sequence[list[FinishedRun]]) -> list[list[FinishedRun]]:
    """The sweeps to draw: the longest ones, from as many data sets and networks as possible.

    Args:
        groups: all sweeps.
    """
    seen: Counter[tuple[str, str]] = Counter()
    ranks = []
    for i, group in enumerate(groups):
        ranks.append((seen[pair(group[0])], -len(group), i))
        seen[pair(group[0])] += 1
    return [groups[i] for i in sorted(i for _, _, i in sorted(ranks)[:MAX_PANELS])]


def _drawn(handle: object) -> bool:
    data = getattr(handle, "get_xdata", None)
    return data is None or len(data()) > 0
