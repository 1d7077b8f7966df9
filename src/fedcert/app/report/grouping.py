"""Which cells may be averaged, and which settings tell the others apart."""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from fedcert.app.report.cells import Cell, order
from fedcert.app.report.measures import Measure
from fedcert.app.report.paper import AXES
from fedcert.app.report.table import Column, Table, Value

IMMATERIAL = frozenset({"data_dir", "device", "events", "claims"})
NAMES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "digits": "Digits"}
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Key:
    """A leading column, by which rows are told apart.

    Attributes:
        column: its heading.
        of: the value for a cell.
    """

    column: Column
    of: Callable[[Cell], Value]


ARCHITECTURE = Key(Column("Arch."), lambda cell: cell.architecture)
DATASET = Key(Column("Dataset"), lambda cell: NAMES.get(cell.dataset, cell.dataset))
CLIENTS = Key(Column("Clients"), lambda cell: cell.clients)
CONCENTRATION = Key(Column("Concentration"), lambda cell: f"{cell.concentration:g}")
SCALE = Key(Column("Scale"), lambda cell: scale_name(cell.scale))


def scale_name(scale: float | str) -> str:
    """A posterior scale in words.

    >>> scale_name(1e-5), scale_name("learned")
    ('1e-05', 'learned')
    """
    return scale if isinstance(scale, str) else f"{scale:g}"


def grouped(cells: Iterable[Cell], key: Callable[[Cell], K]) -> dict[K, list[Cell]]:
    """The cells by a key, in the order in which keys appear."""
    groups: dict[K, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return groups


def other_settings(cell: Cell) -> dict[str, Any]:
    """All settings but the axes of a grid and what does not matter, nested ones by their own names."""
    flat: dict[str, Any] = {}
    for name, value in cell.config.items():
        if name not in AXES | IMMATERIAL:
            flat |= value if isinstance(value, dict) else {name: value}
    return flat


def distinguishing(cells: Sequence[Cell]) -> list[Key]:
    """A leading column for every setting, other than the axes of the grid, in which the cells differ.

    Args:
        cells: of one table.
    """
    settings = [other_settings(cell) for cell in cells]
    names = list(dict.fromkeys(name for values in settings for name in values))
    return [
        Key(Column(name.replace("_", " ")), partial(_setting, name))
        for name in names
        if len({_text(values.get(name)) for values in settings}) > 1
    ]


def spread_table(
    table: Table, cells: Sequence[Cell], keys: Sequence[Key], measures: Sequence[Measure]
) -> list[Table]:
    """A table with a row for each value of the keys; measures that nothing is known of are left out.

    Args:
        table: its name, title and caption.
        cells: what is averaged, within rows; rows come in their order.
        keys: leading columns; settings in which the cells differ come before them.
        measures: the other columns.
    """
    known = [measure for measure in measures if any(measure.of(cell) is not None for cell in cells)]
    if not known:
        return []
    settings = distinguishing(cells)
    leading = [*settings, *keys]
    rows = grouped(
        sorted(cells, key=lambda cell: [str(key.of(cell)) for key in settings]),
        lambda cell: tuple(key.of(cell) for key in leading),
    )
    columns = (
        *(key.column for key in leading),
        Column("Cells"),
        *(measure.column for measure in known),
    )
    body = tuple(
        (*values, len(members), *(measure.over(members) for measure in known))
        for values, members in rows.items()
    )
    return [Table(table.name, table.title, f"{table.caption} {averaged(cells)}", columns, body)]


def heading(name: str, title: str, caption: str) -> Table:
    """A table that has no rows yet."""
    return Table(name, title, caption, (), ())


def averaged(cells: Sequence[Cell]) -> str:
    """How the entries were made, for a caption."""
    seeds = len({cell.seed for cell in cells})
    return f"Entries are mean ± sample standard deviation over the cells of a row ({_count(seeds, 'seed')})."


def sweeps(cells: Sequence[Cell], axis: Literal["scale", "clients"], least: int) -> list[list[Cell]]:
    """Groups of cells that differ in one axis, and in the seed, and in nothing else.

    Args:
        cells: of a grid.
        axis: what differs.
        least: how many values of it there must be.
    """

    def rest(cell: Cell) -> str:
        left_out = {axis, "seed"} | IMMATERIAL
        return json.dumps({k: v for k, v in cell.config.items() if k not in left_out}, sort_keys=True)

    found = grouped(sorted(cells, key=order), rest).values()
    return [group for group in found if len({getattr(cell, axis) for cell in group}) >= least]


def numeric_scale(cell: Cell) -> float:
    """The posterior scale as a number; infinite where it is learned."""
    return math.inf if cell.scale == "learned" else float(cell.scale)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _setting(name: str, cell: Cell) -> str:
    return _text(other_settings(cell).get(name))


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
