"""What a grid's page says in figures, from the contents of the jobs' files."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fedcert.app.grid.job import ELSEWHERE, TRAINING
from fedcert.app.report.images import heat_map
from fedcert.app.report.job import Bounds, Job, distinct, estimate, hidden, scale
from fedcert.app.report.paper import AXES
from fedcert.app.report.table import Column, Item, Table, Value, percent
from fedcert.app.result import claim_of
from fedcert.numerics.enclosure import Enclosure

STAGES = {
    "training": "training",
    "messages": "certification",
    "certification": "certification",
    "estimates": "Monte Carlo",
}
OTHER = "everything else"


def typical(jobs: Sequence[Job]) -> list[Job]:
    """The largest study of a grid, which means speak of: jobs that differ in the paper's axes alone.

    Scales that only a few of them have, as in a sweep, are left out.

    Args:
        jobs: the runs of the grid.
    """

    def protocol(job: Job) -> str:
        config = job.summary["config"]
        return json.dumps({key: config[key] for key in sorted(config) if key not in AXES | ELSEWHERE})

    largest = Counter(map(protocol, jobs)).most_common(1)[0][0]
    alike = [job for job in jobs if protocol(job) == largest]
    scales = Counter(scale(job.summary["config"]) for job in alike)
    return [job for job in alike if 2 * scales[scale(job.summary["config"])] >= max(scales.values())]


def overview(jobs: Sequence[Job]) -> dict[str, list[Bounds]]:
    """What is proven of the deployed models, mean over the typical jobs, by scale: each family and kind.

    Args:
        jobs: the runs of the grid.
    """
    by_scale: dict[str, list[Job]] = {}
    for job in typical(jobs):
        by_scale.setdefault(scale(job.summary["config"]), []).append(job)
    return {name: _means(each) for name, each in by_scale.items()}


def _means(jobs: Sequence[Job]) -> list[Bounds]:
    found: dict[str, list[tuple[float, float | None, float | None]]] = {}
    for job in jobs:
        config = job.summary["config"]
        survival = estimate(job.summary, "attack-survival").get(config["rule"])
        for row in job.summary["summary"]:
            if row["claim"] != "local" and row["rule"] == config["rule"]:
                found.setdefault(f"{row['events']} · {row['claim']}", []).append((
                    row["lower"],
                    row["upper"],
                    survival,
                ))
    return [
        Bounds(
            name,
            _mean([low for low, _, _ in rows]).lower.item(),
            None if any(high is None for _, high, _ in rows) else _mean([h for _, h, _ in rows]).upper.item(),
            None if any(s is None for _, _, s in rows) else _tensor([s for _, _, s in rows]).mean().item(),
        )
        for name, rows in found.items()
    ]


def strongest(overview: dict[str, list[Bounds]]) -> dict[str, Bounds]:
    """The largest of the means at each scale.

    Args:
        overview: the means.
    """
    return {name: max(each, key=lambda b: b.lower) for name, each in overview.items() if each}


def _mean(values: Sequence[float | None]) -> Enclosure:
    """The mean of proven bounds of probabilities."""
    return Enclosure.exactly(_tensor(values)).mean().clamp(0.0, 1.0)


def _tensor(values: Sequence[float | None]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def seconds(jobs: Sequence[Job]) -> dict[str, float]:
    """The seconds of all jobs together, by stage; clients that several jobs share are trained once.

    Args:
        jobs: the runs of the grid.
    """
    total = dict.fromkeys((*STAGES.values(), OTHER), 0.0)
    trained = {}
    for job in jobs:
        for stage, spent in job.summary["timings"].items():
            if stage == "training":
                trained[_federation(job)] = spent
            else:
                total[STAGES.get(stage, OTHER)] += spent
    total[STAGES["training"]] = sum(trained.values())
    return total


def federations(jobs: Sequence[Job]) -> int:
    """How many federations were trained; several jobs may certify one."""
    return len({_federation(job) for job in jobs})


def _federation(job: Job) -> str:
    return json.dumps({key: value for key, value in job.summary["config"].items() if key in TRAINING})


def job_table(jobs: Sequence[Job]) -> Table:
    """A row for each job: its setting, accuracy, every bound in per cent, and seconds.

    Args:
        jobs: the runs of the grid.
    """
    rows = [row for job in jobs for row in job.summary["summary"]]
    claims = distinct(map(claim_of, rows))
    closed = {claim_of(row) for row in rows if row["upper"] is not None}
    columns = [*map(Column, ("data set", "hidden", "clients", "α", "scale", "seed", "accuracy, %"))]
    for kind, rule, events in claims:
        columns.append(Column(f"{kind} {rule} ≥", group=events, rounding="down"))
        if (kind, rule, events) in closed:
            columns.append(Column(f"{kind} {rule} ≤", group=events, rounding="up"))
    columns += [Column(name, group="estimated") for name in ("MC–IBP", "survives attack")]
    columns.append(Column("seconds", 1))
    caption = (
        "Bounds in %, mean over the properties of a job: lower bounds are rounded down, upper bounds up."
        " Estimates are those of the deployed rule."
    )
    return Table("jobs", "Every job", caption, columns, [_job_row(job, claims, closed) for job in jobs])


def _job_row(
    job: Job, claims: Sequence[tuple[str, str, str]], closed: set[tuple[str, str, str]]
) -> list[Value]:
    config = job.summary["config"]
    proven = {claim_of(row): row for row in job.summary["summary"]}
    row: list[Value] = [
        Item(config["dataset"], config["dataset"], link=job.link),
        hidden(config),
        config["clients"],
        Item(f"{config['concentration']:g}", config["concentration"]),
        Item(scale(config), float("inf") if config["scale"] == "learned" else config["scale"]),
        config["seed"],
        percent(job.summary["accuracy"]),
    ]
    for claim in claims:
        row.append(percent(proven[claim]["lower"] if claim in proven else None))
        if claim in closed:
            row.append(percent(proven[claim]["upper"] if claim in proven else None))
    estimates = (estimate(job.summary, name).get(config["rule"]) for name in ("mc-ibp", "attack-survival"))
    return [*row, *map(percent, estimates), float(sum(job.summary["timings"].values()))]


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


def partitions(jobs: Sequence[Job]) -> dict[str, list[Partition]]:
    """The different partitions of the grid, by data set.

    Args:
        jobs: the runs of the grid.
    """
    found: dict[tuple[str, int, float, int], list[list[int]]] = {}
    for job in jobs:
        config, histograms = job.summary["config"], job.summary["histograms"]
        if histograms is not None:
            key = (config["dataset"], config["clients"], config["concentration"], config["seed"])
            found.setdefault(key, histograms)
    by_dataset: dict[str, list[Partition]] = {}
    for (dataset, clients, concentration, seed), histograms in sorted(found.items()):
        drawn = Partition(clients, concentration, seed, heat_map(histograms))
        by_dataset.setdefault(dataset, []).append(drawn)
    return by_dataset


def settings(jobs: Sequence[Job]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """What all jobs have in common, and what differs with all its values.

    Args:
        jobs: the runs of the grid.
    """
    configs = [job.summary["config"] for job in jobs]
    values = {
        key: [json.loads(text) for text in distinct(json.dumps(config.get(key)) for config in configs)]
        for key in distinct(key for config in configs for key in config)
    }
    common = {key: each[0] for key, each in values.items() if len(each) == 1}
    return common, {key: each for key, each in values.items() if len(each) > 1}
