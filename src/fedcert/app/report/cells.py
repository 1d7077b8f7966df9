"""The cells of a grid: one federation each, from the contents of the jobs' result.json files."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from fedcert.app.result import Summary, claim_of

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


def cells_of(summaries: Iterable[Summary]) -> list[Cell]:
    """Every federation of some runs, in the order of their settings.

    Runs of one federation with other events are merged. A job that was done twice counts once.

    Args:
        summaries: the contents of their result.json files.
    """
    cells: dict[str, Cell] = {}
    for cell in map(cell_of, summaries):
        identity = _identity(cell)
        cells[identity] = _merged(cells[identity], cell) if identity in cells else cell
    return sorted(cells.values(), key=lambda cell: (order(cell), _identity(cell)))


def order(cell: Cell) -> tuple[object, ...]:
    """The paper's order: by architecture, dataset, clients, concentration; fixed scales before learned."""
    scale = math.inf if cell.scale == "learned" else float(cell.scale)
    dataset = {"mnist": 0, "fashion-mnist": 1}.get(cell.dataset, 2)
    shape = (len(cell.hidden), cell.hidden)
    return shape, dataset, cell.dataset, cell.clients, cell.concentration, scale, cell.seed


def cell_of(summary: Summary) -> Cell:
    """The cell that the content of a result.json describes.

    Args:
        summary: the content.
    """
    config = summary["config"]
    claims = {claim_of(row): row for row in summary["summary"]}
    return Cell(
        config=config,
        dataset=config["dataset"],
        hidden=tuple(config["hidden"]),
        clients=config["clients"],
        concentration=config["concentration"],
        scale=config["scale"],
        seed=config["seed"],
        accuracy=summary["accuracy_by_rule"],
        lower={claim: row["lower"] for claim, row in claims.items()},
        upper={claim: row["upper"] for claim, row in claims.items() if row["upper"] is not None},
        seconds={claim: row["seconds"] for claim, row in claims.items()},
        estimates={(row["name"], row["rule"]): row["value"] for row in summary["estimates"]},
        timings=summary["timings"],
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
