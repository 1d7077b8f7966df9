"""All figures of a grid, each in a file of its own, in one style."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from fedcert.app.report.cells import Cell
from fedcert.app.report.figures.against_clients import against_clients, cost
from fedcert.app.report.figures.against_scale import against_scale
from fedcert.app.report.figures.calibration import calibration
from fedcert.app.report.figures.heat_map import heat_maps
from fedcert.app.report.figures.hierarchy import hierarchy
from fedcert.app.report.figures.retention import transport_retention
from fedcert.app.report.picture import Picture
from fedcert.wire import atomic

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
