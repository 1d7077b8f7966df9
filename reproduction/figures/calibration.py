"""Calibration: direct certified mass against MC–IBP acceptance."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fedcert.app.report.figures.curves import scale_words
from fedcert.app.report.figures.style import SERIES, TWO_COLUMNS, canvas, letter, picture, styled
from fedcert.app.report.measures import bound, estimate
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.words import RULE_NAMES
from reproduction import paper

Point = tuple[str, str, float, float]  # architecture, law, direct, MC–IBP


@styled
def calibration(runs: Sequence[FinishedRun]) -> list[Picture]:
    """All configurations under both laws, for each family of events; the paper's rows beside them."""
    chosen = paper.papers_grid(runs)
    panels = [(f"ours, {events}", found) for events in paper.EVENTS if (found := our_points(chosen, events))]
    if not panels:
        return []
    if any(map(paper.in_papers_table, chosen)):
        panels.insert(1, ("the paper's rows", paper_points()))
    architectures = list(dict.fromkeys(name for _, points in panels for name, *_ in points))
    look = dict(zip(architectures, SERIES * len(architectures), strict=False))
    figure = canvas(TWO_COLUMNS, 2.5)
    least = min(min(x, y) for _, points in panels for _, _, x, y in points)
    places = figure.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True).flat
    for i, (place, (title, points)) in enumerate(zip(places, panels, strict=True)):
        _scatter(place, points, look)
        letter(place, i, title)
        place.set_xlim(max(0, least - 4), 101.5)
        place.set_ylim(max(0, least - 4), 101.5)
        place.set_aspect("equal")
    shapes = [
        Line2D([], [], color=look[name][0], marker=look[name][1], linestyle="", label=name)
        for name in architectures
    ]
    laws = [
        Line2D([], [], color="black", marker="o", linestyle="", markerfacecolor=fill, label=RULE_NAMES[law],
               markersize=size)
        for law, fill, size in (("fedavg", "black", 3), ("pog", "none", 5))
    ]  # fmt: skip
    equality = [Line2D([], [], color="black", linestyle="--", linewidth=0.8, label="equality")]
    figure.legend(handles=[*shapes, *laws, *equality], loc="outside upper center", ncols=8)
    figure.supxlabel(r"direct bound $L^{\mathrm{dir}}$, %", fontsize=8)
    figure.axes[0].set_ylabel("MC–IBP acceptance, %")
    caption = (
        "Direct certified mass against MC–IBP acceptance, all configurations under both laws"
        f" ({len(chosen)} federations, {scale_words(chosen)}). The dashed line is equality. Rings around dots"
        " are federations in which both laws agree. MC–IBP is an estimate with a weaker verifier, so that"
        " points below the line are no contradiction."
    )
    return [picture(figure, "calibration", "Direct certificates against MC–IBP", caption)]


def our_points(runs: Sequence[FinishedRun], events: str) -> list[Point]:
    """A point for each run and law in which both are known.

    Args:
        runs: of a grid.
        events: the family of events.
    """
    return [
        (run.architecture, law, direct, sampled)
        for run in runs
        for law in paper.LAWS
        if (direct := bound("direct", law, events).of(run)) is not None
        and (sampled := estimate("mc-ibp", law).of(run)) is not None
    ]


def paper_points() -> list[Point]:
    """A point for each of the paper's rows and laws."""
    return [
        (row.architecture, law, row.entries[law, "direct"].mean, row.entries[law, "mc_ibp"].mean)
        for row in paper.table2()
        for law in paper.LAWS
    ]


def _scatter(axes: Axes, points: Sequence[Point], look: dict[str, tuple[str, str]]) -> None:
    axes.axline((0, 0), slope=1, color="black", linestyle="--", linewidth=0.8)
    for name, (colour, marker) in look.items():
        for law, fill, size in (("fedavg", colour, 2.2), ("pog", "none", 4.2)):
            mine = [(x, y) for of, by, x, y in points if (of, by) == (name, law)]
            xs, ys = [x for x, _ in mine], [y for _, y in mine]
            axes.plot(
                xs, ys, marker, color=colour, markerfacecolor=fill, markersize=size, markeredgewidth=0.5
            )
    axes.grid()
