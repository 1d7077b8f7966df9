"""Transport retention: how much of the direct bound the transported one keeps, against concentration."""

from collections.abc import Callable, Sequence
from functools import partial

from matplotlib.axes import Axes

from fedcert.app.report.figures.curves import points, scale_words
from fedcert.app.report.figures.style import (
    SERIES,
    TWO_COLUMNS,
    canvas,
    letter,
    percent_axis,
    picture,
    styled,
)
from fedcert.app.report.grouping import grouped, pair
from fedcert.app.report.measures import spread
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun
from reproduction.measures import retention
from reproduction.paper import EVENTS, papers_grid


@styled
def transport_retention(runs: Sequence[FinishedRun]) -> list[Picture]:
    """100 L^tr / L^dir against concentration by number of clients, a panel for each family of events.

    Args:
        runs: of a grid; there must be three concentrations.
    """
    chosen = papers_grid(runs)
    panels = [
        (events, known)
        for events in EVENTS
        if (known := [run for run in chosen if retention(events).of(run) is not None])
    ]
    concentrations = sorted({run.concentration for run in chosen})
    if not panels or len(concentrations) < 3:
        return []
    counts = sorted({run.clients for run in chosen})[: len(SERIES)]
    figure = canvas(TWO_COLUMNS, 2.6)
    places = figure.subplots(1, len(panels), squeeze=False, sharey=True).flat
    for i, (axes, (events, known)) in enumerate(zip(places, panels, strict=True)):
        for k, count in enumerate(counts):
            of_count = [run for run in known if run.clients == count]
            place = partial(_place, concentrations, 0.12 * (k - (len(counts) - 1) / 2))
            _curves(axes, of_count, events, SERIES[k], place)
        letter(axes, i, events)
        axes.set_xticks(range(len(concentrations)), [f"{value:g}" for value in concentrations])
        percent_axis(axes, max(found for run in known if (found := retention(events).of(run)) is not None))
    figure.axes[0].set_ylabel(r"$100\,L^{\mathrm{tr}}/L^{\mathrm{dir}}$")
    figure.supxlabel("Dirichlet concentration", fontsize=8)
    handles, _ = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, [f"{count} clients" for count in counts], loc="outside upper center", ncols=len(counts)
    )
    caption = (
        "Transport retention ratio (100 L^tr / L^dir, FedAvg) against Dirichlet concentration. Thin dashed"
        " curves are dataset–architecture pairs; bold curves with bars are their mean and sample standard"
        f" deviation. Concentrations stand at equal distances. {scale_words(chosen).capitalize()}."
    )
    return [picture(figure, "retention", "Transport retention against concentration", caption)]


def _curves(
    axes: Axes,
    runs: Sequence[FinishedRun],
    events: str,
    look: tuple[str, str],
    place: Callable[[FinishedRun], float],
) -> None:
    colour, marker = look
    curves = []
    for members in grouped(runs, pair).values():
        xs, ys = points(members, retention(events), place)
        axes.plot(xs, ys, color=colour, linewidth=0.5, linestyle="--", alpha=0.6)
        curves.append(dict(zip(xs, ys, strict=True)))
    places = sorted({x for curve in curves for x in curve})
    spreads = [found for x in places if (found := spread(curve[x] for curve in curves if x in curve))]
    axes.errorbar(
        places,
        [found.mean for found in spreads],
        [found.deviation or 0.0 for found in spreads],
        color=colour,
        marker=marker,
        linewidth=1.8,
        capsize=2,
        elinewidth=0.8,
        label=marker,
    )


def _place(concentrations: Sequence[float], beside: float, run: FinishedRun) -> float:
    """Concentrations stand at equal distances, client counts side by side."""
    return concentrations.index(run.concentration) + beside
