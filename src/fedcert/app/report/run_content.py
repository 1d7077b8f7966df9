"""What the page of a run says, put together: the headline, bounds by radius, conclusions and checks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fedcert.app.records import Concluded, Summary
from fedcert.app.report.bounds import Bounds, stated_name
from fedcert.app.report.runs import FinishedRun

TITLES = {
    "expected-accuracy": "On average over the draw",
    "expected-share": "On average over the draw",
    "one-draw": "One draw: how many",
    "most-at-once": "One draw: which, all at once",
    "all-at-once": "One draw: all at once",
    "vote": "The decision by vote",
    "mean-softmax": "The decision by mean softmax",
    "population-accuracy": "New inputs of the same kind",
    "population-share-0.95": "New inputs: almost always right",
    "population-share-0.5": "New inputs: right more often than not",
    "confidence-accuracy": "Confidence bound",
    "confidence-share": "Confidence bound",
}
"""What conclusions are about, in a few words."""


@dataclass(frozen=True)
class Sentence:
    """A conclusion as a page shows it.

    Attributes:
        title: what it is about.
        text: the statement, or why there is none.
        refused: whether there is none.
        assumptions: those that not all conclusions of its radius have in common.
    """

    title: str
    text: str
    refused: bool
    assumptions: Sequence[str]


@dataclass(frozen=True)
class AtRadius:
    """What is known at one radius.

    Attributes:
        radius: of all balls.
        best: the strongest claim about the deployed model; None if there is none.
        bounds: what each claim proves, with L of each property.
        sentences: what follows for a user.
        assumptions: what all sentences assume.
    """

    radius: float
    best: Bounds | None
    bounds: Sequence[tuple[Bounds, Sequence[float]]]
    sentences: Sequence[Sentence]
    assumptions: Sequence[str]


def by_radius(run: FinishedRun, left_out: Sequence[str]) -> list[AtRadius]:
    """What is known at each radius, in the order of the configuration.

    Args:
        run: the run.
        left_out: families of events that prove nothing anywhere.
    """
    return [_at(run, radius, left_out) for radius in run.radii]


def _at(run: FinishedRun, radius: float, left_out: Sequence[str]) -> AtRadius:
    survival, best = run.estimate("attack-survival", radius), run.strongest_at(radius)
    concluded = [one for one in run.summary["conclusions"] if one["epsilon"] == radius]
    stated = [one["assumptions"] for one in concluded if one["assumptions"]]
    common = [text for text in (stated[0] if stated else []) if all(text in each for each in stated)]
    bounds = [
        (
            Bounds.of(row, survival, stated_name(row)),
            [entry["bounds"][i]["lower"] for entry in run.properties],
        )
        for i, row in enumerate(run.summary["summary"])
        if row["epsilon"] == radius and row["events"] not in left_out
    ]
    shown = None if best is None else Bounds.of(best, survival, stated_name(best))
    return AtRadius(radius, shown, bounds, [_sentence(one, common) for one in concluded], common)


def _sentence(one: Concluded, common: Sequence[str]) -> Sentence:
    title = TITLES.get(one["name"], one["name"].replace("-", " "))
    own = [text for text in one["assumptions"] if text not in common]
    return Sentence(title, one["sentence"], one["value"] is None, own)


def reproved(summary: Summary) -> tuple[int, int]:
    """How many certificates the independent checker proved again when the run was made, and of how many.

    Args:
        summary: the content of result.json.
    """
    parts = (summary["summary"], summary["margins"], summary["radii"], summary["confidence"])
    said = [row["reproved"] for part in parts for row in part]
    return sum(said), len(said)


def headline(summary: Summary) -> Iterator[str]:
    """What is proven on average over the draw of the model, at the radius of the headline.

    Args:
        summary: the content of result.json.
    """
    radius = headline_radius(summary)
    said = [one["sentence"] for one in summary["conclusions"] if one["epsilon"] == radius]
    yield from said[:1]


def headline_radius(summary: Summary) -> float:
    """The first radius; of measurements the first at which they vary.

    Args:
        summary: the content of result.json.
    """
    radii: list[float] = summary["config"]["epsilon"]
    weighted = summary["norm"] == "weighted-linf"
    moving = [radius for radius in radii if radius > 0] if weighted else []
    return (moving or radii)[0]


def empty_families(summary: Summary) -> list[str]:
    """The families of events that prove nothing to be seen at any radius, if another one does.

    Args:
        summary: the content of result.json.
    """
    found: dict[str, bool] = {}
    for row in summary["summary"]:
        found[row["events"]] = found.get(row["events"], False) or Bounds.of(row, {}).says_something
    return [events for events, something in found.items() if not something] if any(found.values()) else []
