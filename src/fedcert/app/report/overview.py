"""A grid at a glance: means by scale, seconds by stage, partitions and settings."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fedcert.app.config import PLACE_SETTINGS
from fedcert.app.report.bounds import Bounds
from fedcert.app.report.grouping import AXES
from fedcert.app.report.images import heat_map
from fedcert.app.report.runs import FinishedRun, federations
from fedcert.app.report.words import distinct, scale_name
from fedcert.numerics.enclosure import Enclosure

STAGES = {
    "training": "training",
    "messages": "certification",
    "certification": "certification",
    "estimates": "Monte Carlo",
}
OTHER = "everything else"


def typical(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The largest study of a grid, which means speak of: runs that differ in data, network and clients alone.

    Scales that only a few of them have, as in a sweep, are left out.
    """

    def protocol(run: FinishedRun) -> str:
        return json.dumps({
            key: run.config[key] for key in sorted(run.config) if key not in AXES | PLACE_SETTINGS
        })

    largest = Counter(map(protocol, runs)).most_common(1)[0][0]
    alike = [run for run in runs if protocol(run) == largest]
    scales = Counter(run.config["scale"] for run in alike)
    return [run for run in alike if 2 * scales[run.config["scale"]] >= max(scales.values())]


def means_by_scale(runs: Sequence[FinishedRun]) -> dict[str, list[Bounds]]:
    """What is proven of the deployed models, mean over the typical runs, by scale: each family and kind."""
    by_scale: dict[str, list[FinishedRun]] = {}
    for run in typical(runs):
        by_scale.setdefault(scale_name(run.config["scale"]), []).append(run)
    return {name: _means(each) for name, each in by_scale.items()}


def _means(runs: Sequence[FinishedRun]) -> list[Bounds]:
    found: dict[str, list[Bounds]] = {}
    for run in runs:
        survival = run.estimate("attack-survival")
        for (kind, rule, events), row in run.claims.items():
            if kind != "local" and rule == run.config["rule"]:
                found.setdefault(f"{events} · {kind}", []).append(Bounds.of(row, survival))
    return [
        Bounds(
            name,
            _mean([each.lower for each in rows]).lower.item(),
            None if None in (uppers := [each.upper for each in rows]) else _mean(uppers).upper.item(),
            None if None in (shares := [each.survival for each in rows]) else _tensor(shares).mean().item(),
        )
        for name, rows in found.items()
    ]


def _mean(values: Sequence[float | None]) -> Enclosure:
    """The mean of proven bounds of probabilities."""
    return Enclosure.exactly(_tensor(values)).mean().clamp(0.0, 1.0)


def _tensor(values: Sequence[float | None]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def seconds(runs: Sequence[FinishedRun]) -> dict[str, float]:
    """The seconds of all runs together, by stage; clients that several runs share are trained once."""
    total = dict.fromkeys((*STAGES.values(), OTHER), 0.0)
    for run in runs:
        for stage, spent in run.summary["timings"].items():
            total[STAGES.get(stage, OTHER)] += spent if stage != "training" else 0.0
    total["training"] += sum(run.summary["timings"].get("training", 0.0) for run in federations(runs))
    return total


@dataclass(frozen=True)
class Partition:
    """How the classes of a data set are spread over clients.

    Attributes:
        clients: their number.
        concentration: α.
        seed: of the draw.
        image: a row for each client, a column for each class, as a data URI.
    """

    clients: int
    concentration: float
    seed: int
    image: str


def partitions(runs: Sequence[FinishedRun]) -> dict[str, list[Partition]]:
    """The different partitions of the grid, by data set."""
    found: dict[tuple[str, int, float, int], list[list[int]]] = {}
    for run in runs:
        config, histograms = run.config, run.summary["histograms"]
        if histograms is not None:
            key = (config["dataset"], config["clients"], config["concentration"], config["seed"])
            found.setdefault(key, histograms)
    by_dataset: dict[str, list[Partition]] = {}
    for (dataset, clients, concentration, seed), histograms in sorted(found.items()):
        drawn = Partition(clients, concentration, seed, heat_map(histograms))
        by_dataset.setdefault(dataset, []).append(drawn)
    return by_dataset


def settings(runs: Sequence[FinishedRun]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """What all runs have in common, and what differs with all its values."""
    configs = [run.config for run in runs]
    values = {
        key: [json.loads(text) for text in distinct(json.dumps(config.get(key)) for config in configs)]
        for key in distinct(key for config in configs for key in config)
    }
    common = {key: each[0] for key, each in values.items() if len(each) == 1}
    return common, {key: each for key, each in values.items() if len(each) > 1}
