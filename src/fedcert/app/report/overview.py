"""An overview of a grid: means by scale, seconds by stage, partitions and settings."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch

from fedcert.app.config import PLACE_SETTINGS
from fedcert.app.report.bounds import Bounds
from fedcert.app.report.grouping import AXES, grouped
from fedcert.app.report.images import heat_map
from fedcert.app.report.measures import families
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
CHOSEN = {
    "first": "the first ones as they come",
    "random": "drawn at random",
    "correct": "selected because the mean model classifies them correctly (no accuracy)",
    "given": "as given",
}


def typical(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs that means are taken over: the largest study of a grid, whose runs differ only in `AXES`.

    Scales that only a few of these runs have, as in a sweep, are left out.
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
    """Mean bounds of the deployed models over the typical runs, by scale: one per family and kind.

    The families that prove nothing are one entry together, the last.
    """
    return {name: _means(each) for name, each in _by_scale(runs).items()}


def accuracy_by_scale(runs: Sequence[FinishedRun]) -> dict[str, float | None]:
    """Mean accuracy of the typical runs' mean models, by scale: on the inputs that the bounds are about.

    Where these were selected for being classified correctly, it is that on the test inputs as they come. None
    where no input has a label.
    """
    found = {name: [_accuracy(run) for run in each] for name, each in _by_scale(runs).items()}
    known = {name: [own for own in each if own is not None] for name, each in found.items()}
    return {name: fmean(each) if each else None for name, each in known.items()}


def strongest_by_scale(runs: Sequence[FinishedRun]) -> dict[str, Bounds]:
    """The largest mean lower bound of each scale; of several, that with the least upper bound."""
    means = means_by_scale(runs)
    return {name: max(each, key=lambda bounds: bounds.strength) for name, each in means.items() if each}


def about(runs: Sequence[FinishedRun]) -> str:
    """What the bounds of some runs are about, in words: the inputs, norm, radius and rule.

    Args:
        runs: at least one run.
    """
    chosen = distinct(CHOSEN.get(how, how) for how in (run.summary["inputs"]["chosen"] for run in runs))
    counts = sorted({run.summary["inputs"]["count"] for run in runs})
    count = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    radii = ", ".join(distinct(f"{run.epsilon:g}" for run in runs))
    rules = ", ".join(distinct(run.config["rule"] for run in runs))
    weighted = any(run.summary["norm"] == "weighted-linf" for run in runs)
    balls = "balls of radius or boxes of measurement error ×" if weighted else "ℓ∞ balls of radius"
    return f"{count} inputs each, {' or '.join(chosen)}; {balls} {radii}; rule {rules}"


def _by_scale(runs: Sequence[FinishedRun]) -> dict[str, list[FinishedRun]]:
    return grouped(typical(runs), lambda run: scale_name(run.config["scale"]))


def _accuracy(run: FinishedRun) -> float | None:
    return run.summary["accuracy"] if run.selected else run.summary["inputs"]["accuracy"]


def _means(runs: Sequence[FinishedRun]) -> list[Bounds]:
    found: dict[tuple[str, str], list[Bounds]] = {}
    for run in runs:
        survival = run.estimate("attack-survival")
        for (kind, rule, events), row in run.claims.items():
            if kind != "local" and rule == run.config["rule"]:
                found.setdefault((events, kind), []).append(Bounds.of(row, survival))
    means = {
        claim: Bounds(
            " · ".join(claim),
            _mean([each.lower for each in rows]).lower.item(),
            None if None in (uppers := [each.upper for each in rows]) else _mean(uppers).upper.item(),
            None if None in (shares := [each.survival for each in rows]) else _tensor(shares).mean().item(),
        )
        for claim, rows in found.items()
    }
    order = [events for events in families(runs) if events in {events for events, _ in means}]
    telling = {events for (events, _), bounds in means.items() if bounds.says_something}
    empty = [events for events in order if events not in telling]
    kept = [b for (events, _), b in sorted(means.items(), key=_by(order)) if events not in empty]
    return [*kept, *([Bounds(", ".join(empty), 0.0, None, None)] if empty else [])]


def _by(order: Sequence[str]) -> Callable[[tuple[tuple[str, str], Bounds]], tuple[int, bool]]:
    """Families in the given order, direct claims first."""
    return lambda each: (order.index(each[0][0]), each[0][1] != "direct")


def _mean(values: Sequence[float | None]) -> Enclosure:
    """An enclosure of the mean of proven bounds of probabilities."""
    return Enclosure.exactly(_tensor(values)).mean().clamp(0.0, 1.0)


def _tensor(values: Sequence[float | None]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def seconds(runs: Sequence[FinishedRun]) -> dict[str, float]:
    """The total seconds of all runs, by stage; the training of clients that runs share counts once."""
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
        clients: the number of clients.
        concentration: the Dirichlet concentration α.
        seed: the seed of the draw.
        image: a heat map with one row per client and one column per class, as a data URI.
    """

    clients: int
    concentration: float
    seed: int
    image: str


def partitions(runs: Sequence[FinishedRun]) -> dict[str, list[Partition]]:
    """The different partitions of the grid, by data set; data that name their clients have none."""
    found: dict[tuple[str, int, float, int], list[list[int]]] = {}
    for run in runs:
        config, histograms = run.config, run.summary["histograms"]
        if histograms is not None and config["concentration"] is not None:
            key = (config["dataset"], config["clients"], config["concentration"], config["seed"])
            found.setdefault(key, histograms)
    by_dataset: dict[str, list[Partition]] = {}
    for (dataset, clients, concentration, seed), histograms in sorted(found.items()):
        drawn = Partition(clients, concentration, seed, heat_map(histograms))
        by_dataset.setdefault(dataset, []).append(drawn)
    return by_dataset


def settings(runs: Sequence[FinishedRun]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The settings that all runs share, and those that differ with all their values."""
    configs = [run.config for run in runs]
    values = {
        key: [json.loads(text) for text in distinct(json.dumps(config.get(key)) for config in configs)]
        for key in distinct(key for config in configs for key in config)
    }
    common = {key: each[0] for key, each in values.items() if len(each) == 1}
    return common, {key: each for key, each in values.items() if len(each) > 1}
