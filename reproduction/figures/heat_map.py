"""The whole grid at a glance: transported and direct bounds by events."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from fedcert.app.report.figures.curves import pair_name
from fedcert.app.report.figures.style import TWO_COLUMNS, canvas, letter, picture, styled
from fedcert.app.report.grouping import grouped, pair
from fedcert.app.report.measures import Measure, bound
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.words import scale_name
from reproduction.paper import EVENTS, SCALE, papers_grid

Line = tuple[tuple[str, str], int]  # a dataset–architecture pair, and clients
LIGHT, DARK = "#fefefe", "#010101"  # on a painted cell; pages in the dark exchange white and black
MIN_LINES = 2  # rows, and concentrations


@styled
def heat_maps(runs: Sequence[FinishedRun]) -> list[Picture]:
    """One figure at the paper's scale and one at the learned scale.

    Args:
        runs: of a grid; there must be two concentrations and two rows.
    """
    scales = (SCALE, "learned")
    return [drawn for scale in scales for drawn in heat_map(papers_grid(runs, scale), scale)]


def heat_map(runs: Sequence[FinishedRun], scale: float | str) -> list[Picture]:
    """A panel for each claim and family of events: rows by pair and clients, columns by concentration.

    Args:
        runs: that differ in nothing else.
        scale: of the posteriors.
    """
    rows: list[Line] = list(grouped(runs, _line))
    concentrations = sorted({run.concentration for run in runs})
    families = [events for events in EVENTS if any(family == events for r in runs for *_, family in r.claims)]
    if not families or min(len(rows), len(concentrations)) < MIN_LINES:
        return []
    claims = ("transported", "direct")
    figure = canvas(TWO_COLUMNS, 0.8 + 0.145 * len(rows) * len(claims))
    edges = [i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0]]
    axes = figure.subplots(len(claims), len(families), squeeze=False)
    for i, claim in enumerate(claims):
        for k, events in enumerate(families):
            place = axes[i, k]
            values = table_of(runs, rows, concentrations, bound(claim, "fedavg", events))
            _painted(place, values, edges)
            letter(place, i * len(families) + k, f"{claim}, {events}")
            place.set_xticks(range(len(concentrations)), [f"{c:g}" for c in concentrations], fontsize=6)
            place.set_yticks(range(len(rows)), _row_names(rows) if k == 0 else [], fontsize=6)
    figure.colorbar(axes[0, 0].images[0], ax=axes, label="proven lower bound, %", fraction=0.02, pad=0.01)
    figure.supxlabel("Dirichlet concentration", fontsize=8)
    words = "learned posterior scales" if scale == "learned" else f"posterior scale {scale_name(scale)}"
    caption = (
        "Proven lower bounds in %, rounded down, under FedAvg with"
        f" {words}: rows are dataset, architecture and number of clients n."
    )
    name = f"heat-map-{scale_name(scale)}"
    return [picture(figure, name, f"Certified probability over the grid, {words}", caption)]


def table_of(
    runs: Sequence[FinishedRun], rows: Sequence[Line], concentrations: Sequence[float], measure: Measure
) -> np.ndarray:
    """Means over seeds, by row and concentration; NaN where nothing is known.

    Args:
        runs: of a grid.
        rows: by pair and clients.
        concentrations: of the columns.
        measure: what is shown.
    """
    members = grouped(runs, lambda run: (_line(run), run.concentration))
    found = [[measure.over(members.get((row, c), [])) for c in concentrations] for row in rows]
    return np.array([[np.nan if value is None else value.mean for value in line] for line in found])


def _painted(axes: Axes, values: np.ndarray, between: Sequence[int]) -> None:
    axes.imshow(values, vmin=0, vmax=100, cmap="cividis", aspect="auto", interpolation="nearest")
    axes.spines[:].set_visible(False)
    for edge in between:
        axes.axhline(edge - 0.5, color="white", linewidth=1.2)
    axes.tick_params(length=0)
    for (i, k), value in np.ndenumerate(values):
        if not np.isnan(value):
            colour = LIGHT if value < 55 else DARK
            text = axes.text(
                k, i, f"{np.floor(value):.0f}", ha="center", va="center", fontsize=5, color=colour
            )
            text.set_in_layout(False)


def _line(run: FinishedRun) -> Line:
    return pair(run), run.clients


def _row_names(rows: Sequence[Line]) -> list[str]:
    """The pair at the first of its rows, the clients at each."""
    return [
        f"{pair_name(of)}   n = {clients}" if i == 0 or rows[i - 1][0] != of else f"n = {clients}"
        for i, (of, clients) in enumerate(rows)
    ]
