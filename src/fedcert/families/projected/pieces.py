"""Regions cut into pieces where few inputs move: Pr(a violation) ≤ Σ Pr(a violation on a piece).

A union bound, so it pays only where what the region moves costs more than the tails of some pieces, as for
tables with a few measured columns. Pieces are the boxes of a grid: n_k equal parts of input k.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product

import torch
from jaxtyping import Float64, Int32, Int64
from torch import Tensor

from fedcert.families.projected.bound import Split, violation
from fedcert.families.projected.choices import Choices, chosen_violation, prefixed
from fedcert.laws.affine import IndependentAffine
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure

MOST_MOVING = 8
"""Inputs that move: with more, no number of pieces that can be afforded makes a region small."""
MOST_PIECES = 16
"""Of one region."""
LEAST_ROOM = 1e-2
"""What cutting could win at most, for it to be tried: the bound less that at the centre."""
LEAST_GAIN = 1e-4
"""By which a cut must lower the bound."""


@dataclass(frozen=True)
class Grid:
    """The pieces of some regions.

    Attributes:
        counts: n_k, the number of parts of each input.
        pieces: one property for each piece, region by region, the last input's parts first.
        owner: the property that each piece belongs to.
    """

    counts: Int32[Tensor, "P p"]
    pieces: Properties
    owner: Int64[Tensor, "T"]

    @classmethod
    def of(cls, properties: Properties, counts: Int32[Tensor, "P p"]) -> "Grid":
        """The pieces of all properties.

        Args:
            properties: P properties.
            counts: n ≥ 1.
        """
        lower, upper, owner = [], [], []
        for p, number in enumerate(counts.tolist()):
            ends = [
                edges(low, high, n)
                for low, high, n in zip(
                    properties.regions.lower[p].tolist(),
                    properties.regions.upper[p].tolist(),
                    number,
                    strict=True,
                )
            ]
            for place in product(*(range(n) for n in number)):
                lower.append([own[i] for own, i in zip(ends, place, strict=True)])
                upper.append([own[i + 1] for own, i in zip(ends, place, strict=True)])
                owner.append(p)
        like = properties.d
        index = torch.tensor(owner, device=like.device)
        regions = Box(like.new_tensor(lower), like.new_tensor(upper))
        return cls(counts, Properties(regions, properties.C[index], properties.d[index]), index)

    def total(self, violated: Float64[Tensor, "T"]) -> Float64[Tensor, "P"]:
        """Σ over the pieces of each property, rounded up, at most 1."""
        parts = violated.split(self.counts.prod(-1).tolist())
        return torch.stack([Enclosure.exactly(own).sum().upper for own in parts]).clamp(max=1.0)


def edges(low: float, high: float, parts: int) -> list[float]:
    """The ends of the parts of [low, high], in order; neighbours share theirs: nothing is left out."""
    inner = [min(max(low + (high - low) * (i / parts), low), high) for i in range(1, parts)]
    return [low, *inner, high]


@dataclass(frozen=True)
class Cut:
    """How regions are cut.

    Attributes:
        bound: of the probability of a violation.
        counts: the parts of each input.
        split: of the failure probability.
    """

    bound: Float64[Tensor, "P"]
    counts: Int32[Tensor, "P p"]
    split: Split


def cut_regions(
    layers: Sequence[IndependentAffine],
    properties: Properties,
    split: Split,
    violated: Float64[Tensor, "P"],
) -> Cut:
    """The least bounds found by cutting regions; a whole region keeps its bound.

    Args:
        layers: the network and its law.
        properties: P properties.
        split: of the failure probability, for each property; all its pieces use the same.
        violated: the bounds of the whole regions.
    """
    moving = properties.regions.upper > properties.regions.lower
    counts = torch.ones_like(moving, dtype=torch.int32)
    open_ones, best = (moving.sum(-1) <= MOST_MOVING) & moving.any(-1), violated.clone()
    if open_ones.any():
        middle = Properties(Box.point(_centre(properties)), properties.C, properties.d)[open_ones]
        room = violated[open_ones] - violation(layers, middle, split.of(open_ones)).probability
        open_ones = open_ones.masked_scatter(open_ones, room > LEAST_ROOM)
    while open_ones.any():
        index = open_ones.nonzero().flatten()
        found = [
            _tried(layers, properties[index], split.of(open_ones), trial)
            for trial in _doubled(counts[index], moving[index])
        ]
        least, which = torch.stack([bound for bound, _ in found]).min(0)
        gains = least < best[index] - LEAST_GAIN
        chosen = torch.stack([trial for _, trial in found])[which, torch.arange(len(index))]
        counts[index[gains]], best[index[gains]] = chosen[gains], least[gains]
        open_ones = open_ones.clone()
        open_ones[index] = gains
    return Cut(best, counts, split)


def better_cut(one: Cut, other: Cut) -> Cut:
    """The better of two ways of cutting, for each property."""
    wins = (other.bound < one.bound).unsqueeze(-1)
    split = [
        torch.where(wins, getattr(other.split, part.name), getattr(one.split, part.name))
        for part in fields(Split)
    ]
    counts = torch.where(wins, other.counts, one.counts)
    return Cut(torch.minimum(one.bound, other.bound), counts, Split(*split))


def _centre(properties: Properties) -> Float64[Tensor, "P p"]:
    lower, upper = properties.regions.lower, properties.regions.upper
    return torch.minimum(torch.maximum(lower + (upper - lower) / 2, lower), upper)


def _doubled(counts: Int32[Tensor, "P p"], moving: Tensor) -> list[Int32[Tensor, "P p"]]:
    """The parts with those of all moving inputs times 2 or 4, or twice those of the k-th, k = 0, 1, …."""
    trials = [torch.where(moving, factor * counts, counts) for factor in (2, 4)]
    for k in range(int(moving.sum(-1).max())):
        kth = moving & (moving.cumsum(-1) == k + 1)
        trials.append(torch.where(kth, 2 * counts, counts))
    return trials


def _tried(
    layers: Sequence[IndependentAffine], properties: Properties, split: Split, counts: Int32[Tensor, "P p"]
) -> tuple[Float64[Tensor, "P"], Int32[Tensor, "P p"]]:
    """The bounds with these pieces; 1 where they are too many."""
    many = counts.prod(-1) > MOST_PIECES
    grid = Grid.of(properties, torch.where(many.unsqueeze(-1), 1, counts))
    bound = grid.total(violation(layers, grid.pieces, split.of(grid.owner)).probability)
    return torch.where(many, 1.0, bound), counts


def bound_of_pieces(
    layers: Sequence[IndependentAffine], properties: Properties, split: Split, counts: Int32[Tensor, "P p"]
) -> tuple[Float64[Tensor, "P"], Choices]:
    """The bounds of regions that are cut, 1 for others; the parts, and a row of choices for each piece.

    Args:
        layers: the network and its law.
        properties: P properties.
        split: of the failure probability, for each property.
        counts: the parts of each input.
    """
    index, bound = (counts.prod(-1) > 1).nonzero().flatten(), torch.ones_like(properties.d[:, 0])
    if len(index) == 0:
        return bound, {}
    grid = Grid.of(properties[index], counts[index])
    found, chosen = chosen_violation(layers, grid.pieces, split.of(index[grid.owner]))
    bound[index] = grid.total(found.probability)
    return bound, prefixed("pieces", {"counts": counts, **chosen})
