"""A gallery of properties: the input, its class, what is proven of it, and whether an attack succeeds."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fedcert.app.records import Property
from fedcert.app.report.bounds import Bounds
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.words import distinct, radius_down, setting
from fedcert.app.result import claim_of

MAX_CARDS = 48  # maximum number of cards for a grid
HARDEST_SHARE = 0.75  # the share of cards with the smallest bounds; the others are drawn at random
Claim = tuple[str, str, str]


@dataclass(frozen=True)
class Shown:
    """What one claim proves of a property.

    Attributes:
        claim: the claim's kind, rule and events.
        at: radius and bounds, radius by radius.
    """

    claim: str
    at: Sequence[tuple[str, Bounds]]

    @property
    def lower(self) -> float:
        """L, mean over the radii, by which cards are ordered."""
        return fmean(bounds.lower for _, bounds in self.at)


@dataclass(frozen=True)
class Card:
    """A property as the gallery shows it.

    Attributes:
        image: the input as a data URI.
        label: the class of the input; None where there is none.
        dataset: the data set that the input comes from.
        place: which property it is, in the order in which they were tested.
        title: which input it is, and of which run.
        attacked: whether an attack breaks the posterior-mean model of the deployed rule.
        attack: what an attack does, and within which radius, in words.
        radii: the certified radius for each threshold, in words.
        claims: what each claim proves, in the order in which they are shown.
    """

    image: str
    label: int | None
    dataset: str
    place: int
    title: str
    attacked: bool
    attack: str
    radii: Sequence[str]
    claims: Sequence[Shown]


def run_cards(run: FinishedRun, left_out: Sequence[str] = ()) -> list[Card]:
    """One card per property of a run, those of which least is proven first; none without claims or images.

    Args:
        run: the run.
        left_out: families of events that are not shown.
    """
    if any(entry["image"] is None for entry in run.properties):
        return []
    claims = [claim for claim in _claims(run) if claim[2] not in left_out]
    cards = [_card(run, i, claims) for i in range(len(run.properties))] if claims else []
    return sorted(cards, key=lambda card: card.claims[0].lower)


def grid_cards(runs: Iterable[FinishedRun], max_cards: int = MAX_CARDS) -> list[Card]:
    """The inputs with the smallest bounds, and some drawn at random, the same number for each data set.

    Each input appears once.

    Args:
        runs: the runs of the grid.
        max_cards: the maximum number of cards.
    """
    worst: dict[str, tuple[float, FinishedRun, int]] = {}  # an input is a property of many federations
    for run in (run for run in runs if run.claims):
        first = _claims(run)[0]
        for i, entry in enumerate(run.properties):
            least, image = _shown(run, entry, first).lower, entry["image"]
            if image is not None and (image not in worst or least < worst[image][0]):
                worst[image] = (least, run, i)
    places = sorted(worst.values(), key=lambda place: place[0])
    datasets = distinct(run.dataset for _, run, _ in places)
    chosen = [
        place
        for dataset in datasets
        for place in _choose([p for p in places if p[1].dataset == dataset], max_cards // len(datasets))
    ]
    return [
        _card(run, i, _claims(run)[:1], setting(run.config))
        for _, run, i in sorted(chosen, key=lambda place: place[0])
    ]


def _choose(places: list[Any], count: int) -> list[Any]:
    """The first places, and some of the others drawn at random, the same every time."""
    hardest, others = places[: round(HARDEST_SHARE * count)], places[round(HARDEST_SHARE * count) :]
    return hardest + random.Random(0).sample(others, min(count - len(hardest), len(others)))


def _card(run: FinishedRun, i: int, claims: Sequence[Claim], where: str = "") -> Card:
    entry = run.properties[i]
    which = f"property {i}" if entry["index"] < 0 else f"test input {entry['index']:,}"
    radii = [
        f"certified radius {radius_down(radius)} (probability ≥ {100 * row['threshold']:g} %)"
        for radius, row in zip(entry["radii"], run.summary["radii"], strict=True)
    ]
    return Card(
        entry["image"] or "",
        entry["label"],
        run.dataset,
        i,
        f"{which}, {where}" if where else which,
        entry["attacked"],
        f"attack {'succeeds' if entry['attacked'] else 'fails'} {_attacked_at(run)}",
        radii,
        [_shown(run, entry, claim) for claim in claims],
    )


def _attacked_at(run: FinishedRun) -> str:
    """Where inputs were attacked: at the first radius only."""
    where = {"weighted-linf": "at error × {:g}", "box": "in the box widened by {:g}"}
    return where.get(run.summary["norm"], "at radius {:g}").format(run.epsilon)


def _shown(run: FinishedRun, entry: Property, claim: Claim) -> Shown:
    """What is proven of a property at each radius; networks were attacked at the first radius only."""
    rows = [row for row in entry["bounds"] if claim_of(row) == claim]
    at = [
        (f"{row['epsilon']:g}", Bounds.of(row, entry["survival"] if row["epsilon"] == run.epsilon else {}))
        for row in rows
    ]
    return Shown(at[0][1].claim, at)


def _claims(run: FinishedRun) -> list[Claim]:
    """All claims; at the front the strongest one of the deployed model at the first radius."""
    best, claims = run.strongest, distinct(map(claim_of, run.summary["summary"]))
    return claims if best is None else distinct([claim_of(best), *claims])
