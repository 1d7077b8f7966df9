"""Grouping of runs: which runs may be averaged, and which settings tell the others apart."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from fedcert.app.config import UNREAD_SETTINGS
from fedcert.app.report.measures import Measure
from fedcert.app.report.runs import IMMATERIAL, FinishedRun
from fedcert.app.report.table import Column, Table, Value
from fedcert.app.report.words import DATASET_NAMES, distinct, scale_name

AXES = frozenset({"dataset", "network", "hidden", "clients", "concentration", "scale", "seed"})
"""Settings that tell the federations of one study apart."""
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Key:
    """A leading column, by which rows are told apart.

    Attributes:
        column: the column with its heading.
        of: gives the value for a run.
    """

    column: Column
    of: Callable[[FinishedRun], Value]


ARCHITECTURE = Key(Column("Arch."), lambda run: run.architecture)
DATASET = Key(Column("Dataset"), lambda run: DATASET_NAMES.get(run.dataset, run.dataset))
CLIENTS = Key(Column("Clients"), lambda run: run.clients)
CONCENTRATION = Key(Column("Concentration"), lambda run: f"{run.concentration:g}")
SCALE = Key(Column("Scale"), lambda run: scale_name(run.scale))


def grouped(runs: Iterable[FinishedRun], key: Callable[[FinishedRun], K]) -> dict[K, list[FinishedRun]]:
    """The runs by a key, in the order in which keys appear."""
    groups: dict[K, list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def pair(run: FinishedRun) -> tuple[str, str]:
    """The data set and the architecture of a run."""
    return run.dataset, run.architecture


def flat_settings(run: FinishedRun) -> dict[str, Any]:
    """All settings that may matter; nested settings are listed under their own names."""
    flat: dict[str, Any] = {}
    unread = UNREAD_SETTINGS[run.config["posterior"]]
    for name, value in run.config.items():
        if name not in IMMATERIAL | unread:
            flat |= value if isinstance(value, dict) else {name: value}
    if len(flat["epsilon"]) == 1:
        (flat["epsilon"],) = flat["epsilon"]  # a number, which may be swept over
    return flat


def other_settings(run: FinishedRun) -> dict[str, Any]:
    """All settings that may matter except the axes of a grid."""
    return {name: value for name, value in flat_settings(run).items() if name not in AXES}


def distinguishing(runs: Sequence[FinishedRun], besides: str = "") -> list[Key]:
    """A leading column for every setting, other than the axes of the grid, in which the runs differ.

    Args:
        runs: the runs of one table.
        besides: a setting that already has a column.
    """
    settings = [other_settings(run) for run in runs]
    names = distinct(name for values in settings for name in values if name != besides)
    return [
        Key(Column(name.replace("_", " ")), partial(_setting, name))
        for name in names
        if len({_text(values.get(name)) for values in settings}) > 1
    ]


def spread_table(
    table: Table,
    runs: Sequence[FinishedRun],
    keys: Sequence[Key],
    measures: Sequence[Measure],
    swept: str = "",
) -> list[Table]:
    """A table with one row per combination of the keys' values; measures without any value are left out.

    Args:
        table: a table without rows that gives the name, title and caption.
        runs: the runs to average within rows; they determine the order of the rows.
        keys: leading columns; columns for settings in which the runs differ come before them.
        measures: the other columns.
        swept: a setting among the keys that is not one of the axes.
    """
    known = [measure for measure in measures if any(measure.of(run) is not None for run in runs)]
    if not known:
        return []
    settings = distinguishing(runs, swept)
    leading = [*settings, *keys]
    rows = grouped(
        sorted(runs, key=lambda run: [str(key.of(run)) for key in settings]),
        lambda run: tuple(key.of(run) for key in leading),
    )
    columns = (*(key.column for key in leading), Column("Runs"), *(measure.column for measure in known))
    body = tuple(
        (*values, len(members), *(measure.over(members) for measure in known))
        for values, members in rows.items()
    )
    return [replace(table, caption=f"{table.caption} {averaged(runs)}", columns=columns, rows=body)]


def averaged(runs: Sequence[FinishedRun]) -> str:
    """How the entries were computed, for a caption."""
    seeds = len({run.config["seed"] for run in runs})
    plural = "" if seeds == 1 else "s"
    return f"Entries are mean ± sample standard deviation over the runs of a row ({seeds} seed{plural})."


def _setting(name: str, run: FinishedRun) -> str:
    return _text(other_settings(run).get(name))


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
