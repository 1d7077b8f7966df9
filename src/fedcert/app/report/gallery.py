"""A gallery of properties: the input, its class, what is proven of it, and whether an attack succeeds."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fedcert.app.report.bounds import Bounds
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.words import distinct, setting
from fedcert.app.result import Property, claim_of

MAX_CARDS = 48  # of a grid
HARDEST_SHARE = 0.75  # of the cards have the smallest bounds; the others are drawn at random


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


def run_cards(run: FinishedRun) -> list[Card]:
    """A card for each property of a run, with every claim, the strongest first; none without claims."""
    claimed = run.properties if run.claims else []
    return [_card(run, entry, f"property {i}") for i, entry in enumerate(claimed)]


def grid_cards(runs: Iterable[FinishedRun], max_cards: int = MAX_CARDS) -> list[Card]:
    """The inputs of which least is proven, of each data set alike, and some at random; each input once.

    Args:
        runs: of the grid.
        max_cards: the number of cards.
    """
    worst: dict[str, tuple[float, FinishedRun, int]] = {}  # an input is a property of many federations
    for run in (run for run in runs if run.claims):
        first = _first(run)
        for i, entry in enumerate(run.properties):
            bound = entry["bounds"][first]["lower"]
            if entry["image"] not in worst or bound < worst[entry["image"]][0]:
                worst[entry["image"]] = (bound, run, i)
    places = sorted(worst.values(), key=lambda place: place[0])
    datasets = distinct(run.dataset for _, run, _ in places)
    chosen = [
        place
        for dataset in datasets
        for place in _choose([p for p in places if p[1].dataset == dataset], max_cards // len(datasets))
    ]
    return [
        _card(run, run.properties[i], f"property {i} of {setting(run.config)}", 1)
        for _, run, i in sorted(chosen, key=lambda place: place[0])
    ]


def _choose(places: list[Any], count: int) -> list[Any]:
    """The first ones, and some of the others at random: the same every time."""
    hardest, others = places[: round(HARDEST_SHARE * count)], places[round(HARDEST_SHARE * count) :]
    return hardest + random.Random(0).sample(others, min(count - len(hardest), len(others)))


def _card(run: FinishedRun, entry: Property, title: str, max_claims: int | None = None) -> Card:
    first = _first(run)
    rows = [entry["bounds"][first], *entry["bounds"][:first], *entry["bounds"][first + 1 :]]
    return Card(
        entry["image"],
        entry["label"],
        run.dataset,
        title,
        entry["attacked"],
        [Bounds.of(row, entry["survival"]) for row in rows[:max_claims]],
    )


def _first(run: FinishedRun) -> int:
    """The place of the claim that is shown first: the strongest of the deployed model, else any."""
    best = run.strongest
    return 0 if best is None else list(run.claims).index(claim_of(best))
