"""The choice of failure probabilities and slopes for each property: any choice is sound, so try several."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.families.projected.bound import Prepared, Split, Violation, prepare, violation
from fedcert.frozen import rows_of, with_rows
from fedcert.laws.affine import IndependentAffine
from fedcert.model.properties import Properties
from fedcert.numerics.parts import on_parts, room
from fedcert.progress import Tracker, silent

STARTS = ((3e-5, 1e-7, 1e-7), (1e-6, 1e-9, 1e-9))
"""Initial failure probabilities of a range, a movement and a deviation."""
FACTORS = {"ranges": (10.0, 0.1), "movement": (10.0, 0.1), "deviation": (10.0, 0.1), "tilt": (1.25, 0.8)}
"""Factors by which each coordinate is multiplied in turn, for as long as that helps."""
GOOD_ENOUGH = 1e-3
"""A property whose violation is bounded by this probability is not worth a search."""
HARDLY = 1e-2
"""A sum above 1 that falls by a smaller share than this will not come below 1: it is searched no further."""
SMALL = 5e-5
"""A property whose violation is bounded by this probability is not worth another start."""
ELEMENTS = 2**22  # maximum number of elements in the largest tensor, which bounds the memory
HELD_TENSORS = 64  # of that size, or more than are held at a time

Coordinate = tuple[str, int]


@dataclass(frozen=True)
class Searched:
    """A split that a search has found, and what is known of the hidden layers with it.

    Attributes:
        split: of the failure probability.
        known: of each part of the properties; none without a hidden layer.
    """

    split: Split
    known: tuple[tuple[slice, Prepared], ...]


@dataclass(frozen=True)
class Tried:
    """What a split gives.

    Attributes:
        violation: the bound.
        split: of the failure probability.
        prepared: what is known of the hidden layers with it; None without any.
    """

    violation: Violation
    split: Split
    prepared: Prepared | None

    @classmethod
    def of(
        cls,
        layers: Sequence[IndependentAffine],
        properties: Properties,
        split: Split,
        prepared: Prepared | None = None,
    ) -> "Tried":
        """What it gives; the arguments are those of `analysis`."""
        if prepared is None and len(layers) > 1:
            prepared = prepare(layers, properties, split)
        return cls(violation(layers, properties, split, prepared), split, prepared)

    @property
    def total(self) -> Float64[Tensor, "P"]:
        """The bound, which may exceed 1."""
        return self.violation.total

    def or_better(self, other: "Tried", chosen: Bool[Tensor, "P"]) -> "Tried":
        """The better of this and another result for each property; the latter covers the chosen ones."""
        improved = other.total < self.total[chosen]
        if not improved.any():
            return self
        return with_rows(self, chosen.masked_scatter(chosen, improved), rows_of(other, improved))


def searched(
    layers: Sequence[IndependentAffine], properties: Properties, track: Tracker = silent
) -> Searched:
    """The split that `least_violation` finds; the arguments are the same."""
    found = _found(layers, properties, track)
    known = [(part, own.prepared) for part, own in found if own.prepared is not None]
    return Searched(_joined([own.split for _, own in found]), tuple(known))


def least_violation(
    layers: Sequence[IndependentAffine], properties: Properties, track: Tracker = silent
) -> tuple[Violation, Split]:
    """The least bound found for each property, and the split that gave it.

    Args:
        layers: the network and its law.
        properties: P properties.
        track: shows progress.
    """
    found = [own for _, own in _found(layers, properties, track)]
    tails, events = ([getattr(own.violation, part) for own in found] for part in ("tails", "events"))
    return Violation(torch.cat(tails), torch.cat(events)), _joined([own.split for own in found])


def _found(
    layers: Sequence[IndependentAffine], properties: Properties, track: Tracker
) -> list[tuple[slice, Tried]]:
    """What the search finds, part by part; the arguments are those of `least_violation`."""
    slices = track(list(parts(layers, properties)), "projected")
    return list(on_parts(lambda part: _search(layers, properties[part]), slices))


def _joined(splits: Sequence[Split]) -> Split:
    """The splits of all parts, one after the other."""
    return Split(*(torch.cat([getattr(own, field.name) for own in splits]) for field in fields(Split)))


def parts(layers: Sequence[IndependentAffine], properties: Properties) -> Iterator[slice]:
    """Slices of the properties, so small that memory is bounded."""
    widest = max([2 * layer.outputs * layer.inputs for layer in layers[1:-1]] or [1])
    size = max(1, room(properties.d.device, HELD_TENSORS, ELEMENTS) // widest)
    for start in range(0, len(properties), size):
        yield slice(start, min(start + size, len(properties)))


def _search(layers: Sequence[IndependentAffine], properties: Properties) -> Tried:
    """Coordinate descent from the best start, for the properties that can gain from it."""
    best = _start(layers, properties, STARTS[-1])
    for start in STARTS[:-1]:
        worth = best.total > SMALL
        if worth.any():
            best = best.or_better(_start(layers, properties[worth], start), worth)
    worth = best.total > GOOD_ENOUGH
    if len(layers) > 2 and worth.any():
        split = best.split.of(worth)
        soft = replace(split, reach=torch.ones_like(split.reach))
        best = best.or_better(Tried.of(layers, properties[worth], soft), worth)
    for coordinate in coordinates(len(layers)):
        moved = torch.zeros_like(best.total, dtype=torch.bool)
        for factor in FACTORS[coordinate[0]]:
            worth = (best.total > GOOD_ENOUGH) & ~moved
            while worth.any():
                own, before = rows_of(best, worth), best.total
                candidate = _changed(own.split, coordinate, factor)
                tried = Tried.of(
                    layers, properties[worth], candidate, _still_known(own.prepared, candidate, coordinate)
                )
                best = best.or_better(tried, worth)
                least = torch.where(before < 1, 0.0, HARDLY * before)
                moved |= (best.total < before) & _inside(best.split, coordinate)  # no way on from there
                worth = worth & (before - best.total > least)
    return best


def _still_known(before: Prepared | None, split: Split, coordinate: Coordinate) -> Prepared | None:
    """What is known of the hidden layers after one coordinate changed; None if it has to be found again."""
    name, place = coordinate
    if before is None:
        return None
    hidden = len(before.known.spreads)
    if name == "tilt" and place == hidden - 1:
        return before.tilted(split.tilt[:, place])
    return before if place == hidden else None


def coordinates(layers: int) -> list[Coordinate]:
    """The parts of a split that a network with this many layers depends on, field and column.

    The first hidden layer is not relaxed, and its law is known: it has neither slopes nor deviations.
    """
    deep = range(1, layers) if layers > 2 else range(0)
    return [
        *(("ranges", place) for place in range(layers - 1)),
        *(("movement", place) for place in range(layers)),
        *(("deviation", place) for place in deep),
        *(("tilt", place) for place in deep[:-1]),
    ]


def uniform_split(
    layers: Sequence[IndependentAffine],
    properties: Properties,
    start: tuple[float, float, float],
    reach: float = 0.0,
) -> Split:
    """The same failure probabilities for all properties and layers.

    Args:
        layers: the network.
        properties: P properties.
        start: the failure probabilities of a range, a movement and a deviation.
        reach: of lines that may be exceeded; 0 for lines that hold.
    """
    hidden, count, like = max(1, len(layers) - 1), len(properties), properties.d
    ranges, movement, deviation = start
    return Split(
        like.new_full((count, hidden), ranges),
        like.new_full((count, len(layers)), movement),
        like.new_full((count, len(layers)), deviation),
        like.new_ones((count, hidden)),
        like.new_full((count, 1), reach),
    )


def _start(
    layers: Sequence[IndependentAffine], properties: Properties, start: tuple[float, float, float]
) -> Tried:
    """One split for all properties, and the bounds that it gives."""
    return Tried.of(layers, properties, uniform_split(layers, properties, start))


def _changed(split: Split, coordinate: Coordinate, factor: float) -> Split:
    """The split with one coordinate multiplied by a factor, within useful limits."""
    name, place = coordinate
    changed = getattr(split, name).clone()
    changed[:, place] = (changed[:, place] * factor).clamp(*_limits(name))
    return replace(split, **{name: changed})


def _inside(split: Split, coordinate: Coordinate) -> Bool[Tensor, "P"]:
    """Whether a coordinate is strictly within its limits."""
    name, place = coordinate
    least, most = _limits(name)
    value: Tensor = getattr(split, name)[:, place]
    return (least < value) & (value < most)


def _limits(name: str) -> tuple[float, float]:
    """The least and the greatest useful value of a coordinate."""
    return (1e-3, 1e3) if name == "tilt" else (1e-15, 1e-2)
