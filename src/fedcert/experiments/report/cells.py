"""The cells of a grid: one federation each, read from the result.json files of its jobs."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fedcert.errors import DataError, UnreadableFile
from fedcert.experiments.journal import RESULT

JOBS = "jobs"
Scale = float | Literal["learned"]
Bound = tuple[str, str, str]  # claim, rule, events
Sampled = tuple[str, str]  # name, rule


@dataclass(frozen=True)
class Cell:
    """What is known about one federation.

    Attributes:
        config: all settings of its run; `events` are those of all runs that were merged.
        dataset: where its data come from.
        hidden: widths of the hidden layers.
        clients: how many there are.
        concentration: of the Dirichlet partition.
        scale: the posterior scale.
        seed: of everything random.
        accuracy: of the posterior-mean model, by rule.
        lower: mean proven lower bounds, by claim, rule and events.
        upper: mean proven upper bounds, where there are any.
        seconds: what each claim took to prove.
        estimates: Monte Carlo means, by name and rule.
        timings: seconds by stage; of merged runs the longest.
    """

    config: Mapping[str, Any]
    dataset: str
    hidden: tuple[int, ...]
    clients: int
    concentration: float
    scale: Scale
    seed: int
    accuracy: Mapping[str, float]
    lower: Mapping[Bound, float]
    upper: Mapping[Bound, float]
    seconds: Mapping[Bound, float]
    estimates: Mapping[Sampled, float]
    timings: Mapping[str, float]

    @property
    def architecture(self) -> str:
        """The hidden layers as the paper writes them: 1×64, 2×64."""
        if len(set(self.hidden)) == 1:
            return f"{len(self.hidden)}×{self.hidden[0]}"
        return "-".join(map(str, self.hidden)) or "linear"


def read_cells(folders: Sequence[Path]) -> list[Cell]:
    """Every federation found in the folders of grids and runs, in the order of their settings.

    Runs of one federation with other events are merged. A job that is in two folders counts once.

    Args:
        folders: each the folder of a grid, or of one run.
    """
    cells: dict[str, Cell] = {}
    for path in (path for folder in folders for path in results(folder)):
        cell = read_cell(path)
        identity = _identity(cell)
        cells[identity] = _merged(cells[identity], cell) if identity in cells else cell
    return sorted(cells.values(), key=lambda cell: (order(cell), _identity(cell)))


def order(cell: Cell) -> tuple[object, ...]:
    """The paper's order: by architecture, dataset, clients, concentration; fixed scales before learned."""
    scale = math.inf if cell.scale == "learned" else float(cell.scale)
    dataset = {"mnist": 0, "fashion-mnist": 1}.get(cell.dataset, 2)
    shape = (len(cell.hidden), cell.hidden)
    return shape, dataset, cell.dataset, cell.clients, cell.concentration, scale, cell.seed


def read_cell(path: Path) -> Cell:
    """What one result.json says.

    Args:
        path: the file.
    """
    try:
        return cell_of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise UnreadableFile(
            f"{path}: not the result of a run ({problem}); remove it, or repeat the run"
        ) from error


def cell_of(summary: Mapping[str, Any]) -> Cell:
    """The cell that the content of a result.json describes.

    Args:
        summary: see `fedcert.experiments.output.summarise`.
    """
    config, rows = dict(summary["config"]), summary["summary"]
    claims = {(str(row["claim"]), str(row["rule"]), str(row["events"])): row for row in rows}
    scale = config["scale"]
    return Cell(
        config=config,
        dataset=str(config["dataset"]),
        hidden=tuple(int(width) for width in config["hidden"]),
        clients=int(config["clients"]),
        concentration=float(config["concentration"]),
        scale=scale if scale == "learned" else float(scale),
        seed=int(config["seed"]),
        accuracy=_numbers(summary["accuracy_by_rule"].items(), _probability),
        lower=_numbers(((claim, row["lower"]) for claim, row in claims.items()), _probability),
        upper=_numbers(((claim, row["upper"]) for claim, row in claims.items()), _probability),
        seconds=_numbers(((claim, row["seconds"]) for claim, row in claims.items()), float),
        estimates=_numbers(
            (((str(row["name"]), str(row["rule"])), row["value"]) for row in summary["estimates"]),
            _probability,
        ),
        timings=_numbers(summary["timings"].items(), float),
    )


def results(folder: Path) -> Iterator[Path]:
    """The result.json files of a run, or of the jobs of a grid.

    Args:
        folder: of either.
    """
    if (folder / RESULT).is_file():
        yield folder / RESULT
    found = sorted((folder / JOBS).glob(f"*/{RESULT}"))
    yield from found
    if not found and not (folder / RESULT).is_file():
        raise DataError(
            f"{folder}: no results there: give the folder of a run, or of a grid with finished jobs"
        )


def _identity(cell: Cell) -> str:
    """What determines a federation; where its data lie does not, nor what was claimed about it."""
    settings = {
        key: value
        for key, value in cell.config.items()
        if key not in {"events", "claims", "data_dir", "device"}
    }
    return json.dumps(settings, sort_keys=True)


def _merged(first: Cell, second: Cell) -> Cell:
    events = dict.fromkeys([*first.config["events"], *second.config["events"]])
    stages = dict.fromkeys([*first.timings, *second.timings])
    return replace(
        first,
        config={**first.config, "events": list(events)},
        lower={**second.lower, **first.lower},
        upper={**second.upper, **first.upper},
        seconds={**second.seconds, **first.seconds},
        estimates={**second.estimates, **first.estimates},
        timings={
            stage: max(first.timings.get(stage, 0.0), second.timings.get(stage, 0.0)) for stage in stages
        },
    )


def _numbers(items: Iterable[tuple[Any, Any]], kind: Callable[[Any], float]) -> dict[Any, float]:
    return {key: kind(value) for key, value in items if value is not None}


def _probability(value: Any) -> float:
    if not 0 <= (number := float(value)) <= 1:
        raise ValueError(f"{value} is no probability")
    return number
