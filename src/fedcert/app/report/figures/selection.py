"""Which cells a figure shows: only such as differ in what it shows."""

import json
from collections.abc import Sequence
from dataclasses import replace

from fedcert.app.report import paper
from fedcert.app.report.cells import Cell, order
from fedcert.app.report.grouping import NAMES, grouped, other_settings, scale_name


def main_cells(cells: Sequence[Cell], scale: float | str | None = None) -> list[Cell]:
    """The paper's grid where it is there, with all nine concentrations; else the largest comparable group.

    Args:
        cells: of a grid.
        scale: of the posteriors; None takes the scale of the largest group.
    """
    chosen = [cell for cell in cells if scale is None or cell.scale == scale]
    papers = [cell for cell in chosen if is_papers(cell) and cell.scale in {scale, paper.SCALE}]
    if papers:
        return sorted(papers, key=order)
    groups = grouped(
        chosen, lambda cell: json.dumps([other_settings(cell), scale_name(cell.scale)], sort_keys=True)
    )
    largest: list[Cell] = max(groups.values(), key=len, default=[])
    return sorted(largest, key=order)


def is_papers(cell: Cell) -> bool:
    """Whether a federation is a point of the paper's grid, at any scale.

    Args:
        cell: with any seed.
    """
    of_a_row = replace(cell, concentration=paper.IID[0])
    return (
        cell.concentration in (*paper.NON_IID, *paper.BETWEEN, *paper.IID)
        and paper.row_of(of_a_row) is not None
        and paper.follows_protocol(cell)
    )


def pair(cell: Cell) -> tuple[str, str]:
    """Dataset and architecture."""
    return cell.dataset, cell.architecture


def pair_name(of: tuple[str, str], between: str = " ") -> str:
    """Dataset and architecture in few letters, as in the paper.

    >>> pair_name(("fashion-mnist", "1×64"))
    'FMNIST 1×64'
    """
    return f"{NAMES.get(of[0], of[0]).replace('Fashion-', 'F')}{between}{of[1]}"


def scale_words(cells: Sequence[Cell]) -> str:
    """The posterior scales of some cells, for a caption."""
    names = dict.fromkeys(scale_name(cell.scale) for cell in cells)
    return "learned scale" if list(names) == ["learned"] else f"scale {', '.join(names)}"
