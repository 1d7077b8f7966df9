"""The figures of the reproduction: the paper's, and what our events and scales add to them."""

from functools import partial

from fedcert.app.report.figures.sweep import sweep_figure
from fedcert.app.report.write import FigureMaker
from reproduction import paper
from reproduction.figures.calibration import calibration
from reproduction.figures.cost import cost
from reproduction.figures.heat_map import heat_maps
from reproduction.figures.hierarchy import hierarchy
from reproduction.figures.retention import transport_retention

FIGURES: tuple[FigureMaker, ...] = (
    hierarchy,
    calibration,
    transport_retention,
    heat_maps,
    partial(sweep_figure, setting="scale"),
    partial(sweep_figure, setting="clients", min_values=paper.MIN_CLIENT_COUNTS),
    cost,
)
