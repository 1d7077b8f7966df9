"""A gallery of properties: the input, its class, what is proven of it, and whether an attack succeeds."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fedcert.app.report.job import (
    Bounds,
    Job,
    bounds,
    claim_name,
    distinct,
    setting,
    strongest,
)
from fedcert.app.result import Property, Summary

MOST = 48  # cards of a grid
HARDEST = 0.75  # the share of them that has the smallest bounds; the others are drawn at random


@dataclass(frozen=True)
class Card:
    """A property.

    Attributes:
        image: the input as a data URI.
        label: its class.
        dataset: where it comes from.
        title: which property it is, and of what.
        attacked: whether an attack breaks the posterior-mean model of the deployed rule.
        bounds: what is proven, for each claim; the one that is shown first comes first.
    """

    image: str
    label: int
    dataset: str
    title: str
    attacked: bool
    bounds: Sequence[Bounds]

    @property
    def lower(self) -> float:
        """L of the claim that is shown first."""
        return self.bounds[0].lower


def run_cards(summary: Summary, properties: Sequence[Property]) -> list[Card]:
    """A card for each property of a run, with every claim, the strongest first; none without claims.

    Args:
        summary: the content of result.json.
        properties: the content of properties.json.
    """
    claimed = properties if summary["summary"] else []
    return [_card(summary, entry, f"property {i}") for i, entry in enumerate(claimed)]


def grid_cards(jobs: Iterable[Job], most: int = MOST) -> list[Card]:
    """The inputs of which least is proven, of each data set alike, and some at random; each input once.

    Args:
        jobs: the runs of the grid.
        most: the number of cards.
    """
    worst: dict[str, tuple[float, Job, int]] = {}  # an input is a property of many federations
    for job in (job for job in jobs if job.summary["summary"]):
        first = _first(job.summary)
        for i, entry in enumerate(job.properties):
            bound = entry["bounds"][first]["lower"]
            if entry["image"] not in worst or bound < worst[entry["image"]][0]:
                worst[entry["image"]] = (bound, job, i)
    places = sorted(worst.values(), key=lambda place: place[0])
    datasets = distinct(job.summary["config"]["dataset"] for _, job, _ in places)
    chosen = [
        place
        for dataset in datasets
        for place in _choose(
            [p for p in places if p[1].summary["config"]["dataset"] == dataset], most // len(datasets)
        )
    ]
    return [
        _card(job.summary, job.properties[i], f"property {i} of {setting(job.summary['config'])}", 1)
        for _, job, i in sorted(chosen, key=lambda place: place[0])
    ]


def _choose(places: list[Any], count: int) -> list[Any]:
    """The first ones, and some of the others at random: the same every time."""
    hardest, others = places[: round(HARDEST * count)], places[round(HARDEST * count) :]
    return hardest + random.Random(0).sample(others, min(count - len(hardest), len(others)))


def _card(summary: Summary, entry: Property, title: str, claims: int | None = None) -> Card:
    first = _first(summary)
    rows = [entry["bounds"][first], *entry["bounds"][:first], *entry["bounds"][first + 1 :]]
    return Card(
        entry["image"],
        entry["label"],
        summary["config"]["dataset"],
        title,
        entry["attacked"],
        [bounds(row, entry["survival"]) for row in rows[:claims]],
    )


def _first(summary: Summary) -> int:
    """The place of the claim that is shown first: the strongest of the deployed model, else any."""
    best = strongest(summary)
    names = [claim_name(row) for row in summary["summary"]]
    return 0 if best is None else names.index(claim_name(best))
