"""Panels of curves over one axis, a family of events each; what both sweeps have in common."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedcert.app.report.cells import Cell
from fedcert.app.report.figures.selection import pair, pair_name, scale_words
from fedcert.app.report.figures.style import (
    BLACK,
    FAMILY,
    GREY,
    TWO_COLUMNS,
    canvas,
    letter,
    percent_axis,
)
from fedcert.app.report.grouping import distinguishing, grouped
from fedcert.app.report.measures import EVENTS, Measure, bound, estimate, upper

MOST = 6  # panels of one figure; the tables show all


def panels(groups: Sequence[Sequence[Cell]], label: str, height: float = 2.2) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each group of cells.

    Args:
        groups: each is one sweep.
        label: of the vertical axes.
        height: of a row of panels, in inches.
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
    cells: Sequence[Cell], measure: Measure, place: Callable[[Cell], float]
) -> tuple[list[float], list[float]]:
    """Where a measure is known, and its means over seeds.

    Args:
        cells: of one sweep.
        measure: what is shown.
        place: the horizontal coordinate of a cell.
    """
    known = {
        x: found.mean
        for x, members in sorted(grouped(cells, place).items())
        if (found := measure.over(members)) is not None
    }
    return list(known), list(known.values())


def certified_panel(axes: Axes, cells: Sequence[Cell], place: Callable[[Cell], float]) -> None:
    """Direct and transported bounds by events, the band up to an upper bound, and the estimates.

    Args:
        axes: where.
        cells: of one sweep.
        place: the horizontal coordinate of a cell.
    """
    for events in EVENTS:
        colour, marker = FAMILY[events]
        direct = points(cells, bound("direct", "fedavg", events), place)
        transported = points(cells, bound("transported", "fedavg", events), place)
        above = dict(zip(*points(cells, upper("direct", "fedavg", events), place), strict=True))
        axes.plot(*direct, color=colour, marker=marker, label=f"{events}, direct")
        axes.plot(*transported, color=colour, marker=marker, markerfacecolor="white", linestyle="--",
                  label=f"{events}, transported")  # fmt: skip
        band = [(x, low, above[x]) for x, low in zip(*direct, strict=True) if x in above]
        if band:
            places, lows, highs = zip(*band, strict=True)
            axes.fill_between(places, lows, highs, color=colour, alpha=0.2, lw=0, label="[L, U], direct")
            if len(band) == 1:
                axes.vlines(places, lows, highs, color=colour, alpha=0.2, linewidth=6)
    survival = points(cells, estimate("attack-survival", "fedavg"), place)
    sampled = points(cells, estimate("mc-ibp", "fedavg"), place)
    axes.plot(*survival, color=BLACK, marker="*", markersize=5, linestyle="", label="attack survival")
    axes.plot(*sampled, color=GREY, marker="x", linestyle="", label="MC–IBP")
    percent_axis(axes)
    axes.set_ylim(bottom=-2)  # markers at 0 are seen whole


def group_title(
    axes: Axes, i: int, group: Sequence[Cell], groups: Sequence[Sequence[Cell]], axis: str
) -> None:
    """What tells a panel's cells from those of the others.

    Args:
        axes: the panel.
        i: its place.
        group: its cells.
        groups: all panels' cells.
        axis: scale or clients, whichever the panel sweeps over.
    """
    first = group[0]
    federation = f"{first.clients} clients" if axis == "scale" else scale_words(group)
    words = [pair_name(pair(first)), f"{federation}, concentration {first.concentration:g}"]
    settings = distinguishing([members[0] for members in groups])
    words += [", ".join(f"{key.column.name} {key.of(first)}" for key in settings)] if settings else []
    letter(axes, i, "\n".join(words))


def shared_legend(figure: Figure, columns: int) -> None:
    """One legend for all panels: above them, or beside the only one.

    Args:
        figure: with panels.
        columns: of a legend above.
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


def selected(groups: Sequence[list[Cell]]) -> list[list[Cell]]:
    """The panels that are drawn: the longest sweeps, of as many dataset–architecture pairs as there are.

    Args:
        groups: all sweeps.
    """
    seen: Counter[tuple[str, str]] = Counter()
    ranks = []
    for i, group in enumerate(groups):
        ranks.append((seen[pair(group[0])], -len(group), i))
        seen[pair(group[0])] += 1
    return [groups[i] for i in sorted(i for _, _, i in sorted(ranks)[:MOST])]


def _drawn(handle: object) -> bool:
    data = getattr(handle, "get_xdata", None)
    return data is None or len(data()) > 0
