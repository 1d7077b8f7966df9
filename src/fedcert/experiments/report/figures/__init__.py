"""All figures of a grid, each in a file of its own, in one style."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from fedcert import atomic
from fedcert.experiments.report.cells import Cell
from fedcert.experiments.report.figures.against_clients import against_clients, cost
from fedcert.experiments.report.figures.against_scale import against_scale
from fedcert.experiments.report.figures.calibration import calibration
from fedcert.experiments.report.figures.heat_map import heat_maps
from fedcert.experiments.report.figures.hierarchy import hierarchy
from fedcert.experiments.report.figures.retention import transport_retention
from fedcert.experiments.report.picture import Picture

__all__ = ["all_pictures", "write_pictures"]


def all_pictures(cells: Sequence[Cell]) -> list[Picture]:
    """Every figure for which there are enough data.

    Args:
        cells: of one grid or several.
    """
    makers = hierarchy, calibration, transport_retention, heat_maps, against_scale, against_clients, cost
    return [picture for make in makers for picture in make(cells)]


def write_pictures(pictures: Iterable[Picture], folder: Path) -> None:
    """Write every figure in every format.

    Args:
        pictures: the figures.
        folder: where they go, as NAME.svg, NAME.png and NAME.pdf.
    """
    for picture in pictures:
        atomic.write(folder / f"{picture.name}.svg", picture.svg)
        atomic.write(folder / f"{picture.name}.png", picture.png)
        atomic.write(folder / f"{picture.name}.pdf", picture.pdf)
