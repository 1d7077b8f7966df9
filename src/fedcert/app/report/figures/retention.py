"""Transport retention: how much of the direct bound the transported one keeps, against concentration."""

from collections.abc import Callable, Sequence
from functools import partial

from matplotlib.axes import Axes

from fedcert.app.report.cells import Cell
from fedcert.app.report.figures.curves import points
from fedcert.app.report.figures.selection import main_cells, pair, scale_words
from fedcert.app.report.figures.style import (
    SERIES,
    TWO_COLUMNS,
    canvas,
    letter,
    percent_axis,
    picture,
    styled,
)
from fedcert.app.report.grouping import grouped
from fedcert.app.report.measures import EVENTS, retention, spread
from fedcert.app.report.picture import Picture


@styled
def transport_retention(cells: Sequence[Cell]) -> list[Picture]:
    """100 L^tr / L^dir against concentration by number of clients, a panel for each family of events.

    Args:
        cells: of a grid; there must be three concentrations.
    """
    chosen = main_cells(cells)
    panels = [
        (events, known)
        for events in EVENTS
        if (known := [cell for cell in chosen if retention(events).of(cell) is not None])
    ]
    concentrations = sorted({cell.concentration for cell in chosen})
    if not panels or len(concentrations) < 3:
        return []
    counts = sorted({cell.clients for cell in chosen})[: len(SERIES)]
    figure = canvas(TWO_COLUMNS, 2.6)
    places = figure.subplots(1, len(panels), squeeze=False, sharey=True).flat
    for i, (axes, (events, known)) in enumerate(zip(places, panels, strict=True)):
        for k, count in enumerate(counts):
            of_count = [cell for cell in known if cell.clients == count]
            place = partial(_place, concentrations, 0.12 * (k - (len(counts) - 1) / 2))
            _curves(axes, of_count, events, SERIES[k], place)
        letter(axes, i, events)
        axes.set_xticks(range(len(concentrations)), [f"{value:g}" for value in concentrations])
        percent_axis(axes, max(found for cell in known if (found := retention(events).of(cell)) is not None))
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
    cells: Sequence[Cell],
    events: str,
    look: tuple[str, str],
    place: Callable[[Cell], float],
) -> None:
    colour, marker = look
    curves = []
    for members in grouped(cells, pair).values():
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


def _place(concentrations: Sequence[float], beside: float, cell: Cell) -> float:
    """Concentrations stand at equal distances, client counts side by side."""
    return concentrations.index(cell.concentration) + beside
