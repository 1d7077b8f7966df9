"""Tuples of mixture components, searched by their hulls: one bound may serve many tuples.

A tuple of components, one from each client's mixture, deploys one Gaussian law, and the deployed law is the
mixture of these with weights Π_i π_{i,k_i}. A node S_1 × … × S_n stands for all its tuples; a bound for all
laws that lie between its components holds for each of them, so that

    Σ_nodes π_node L_node ≤ Pr(safe) ≤ Σ_nodes π_node U_node,   π_node = Π_i Σ_{k ∈ S_i} π_{i,k},

for any nodes that are disjoint and cover all tuples. `nodes.py` writes down which nodes these are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.errors import InvalidConfig, InvalidLaw, ShapeMismatch
from fedcert.laws import (
    DiagonalGaussian,
    DiagonalLaw,
    GaussianLaw,
    GaussianMixture,
    Law,
    diagonal_components,
)
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import up
from fedcert.search import BestFirst, IndexProduct

MAX_BOUNDS = 256
"""Maximum number of bounds tried for mixture laws, the heaviest tuples first."""
MAX_MEAN_DISTANCE = 0.1  # maximum distance of the means in a hull whose bound is tried, in deviations
MAX_SCALE_DIFFERENCE = 1e-4  # maximum relative difference of the deviations in such a hull

Interval = tuple[Float64[Tensor, "P"], Float64[Tensor, "P"]]
Bound = Callable[[Sequence[GaussianLaw]], Interval]


class Known(NamedTuple):
    """Bounds that hold for all tuples of a node, and which call of the bound they come from.

    Attributes:
        lower: L, for each property.
        upper: U, for each property.
        below: the number of the call that gave L.
        above: the number of the call that gave U.
    """

    lower: Float64[Tensor, "P"]
    upper: Float64[Tensor, "P"]
    below: Int64[Tensor, "P"]
    above: Int64[Tensor, "P"]


class Node(NamedTuple):
    """Tuples of components, and the bounds known to hold for all of them; None where there are none."""

    tuples: IndexProduct
    known: Known | None


@dataclass(frozen=True)
class MixtureBounds:
    """The bounds of a mixture, and the bounds of Gaussian laws that they were made from.

    Attributes:
        lower: L, for each property.
        upper: U, for each property.
        called: the nodes whose bounds were computed, in this order.
        nodes: disjoint nodes that cover all tuples.
    """

    lower: Float64[Tensor, "P"]
    upper: Float64[Tensor, "P"]
    called: tuple[IndexProduct, ...]
    nodes: tuple[Node, ...]

    @property
    def calls(self) -> int:
        """The number of bounds of Gaussian laws that were computed."""
        return len(self.called)


def mixture_bounds(laws: Sequence[Law], bound: Bound, budget: int, good: float) -> MixtureBounds:
    """Bounds of the probability of safety for a mixture of tuples, the node of the heaviest tuple first.

    A node whose components are close to each other is bounded as a whole; if that leaves more than `good`
    open, or if they are not close, the node is split in two. A tuple beyond the budget keeps the bounds of
    the node that it was split from, at worst 0 and 1.

    Args:
        laws: the clients' laws, Gaussians or mixtures of them.
        bound: gives L and U for one law per client, or for all laws that these enclose.
        budget: the maximum number of bounds tried.
        good: a node with 1 − L of at most this much is not split.
    """
    if budget < 1:
        raise InvalidConfig(f"at least one tuple of components must be bounded, not {budget}")
    shares = [weights_of(law) for law in laws]

    def key(node: Node) -> tuple[float, int]:
        chosen = zip(shares, node.tuples, strict=True)
        return -prod(own.lower[list(k)].max().item() for own, k in chosen), prod(map(len, node.tuples))

    everything = tuple(tuple(range(len(law.components))) for law in laws)
    frontier, called = BestFirst(key, Node(everything, None)), list[IndexProduct]()
    settled: list[Node] = []
    while frontier and len(called) < budget:
        tuples, known = next(frontier)
        hulls = [_hull(law, chosen) for law, chosen in zip(laws, tuples, strict=True)]
        if all(hull is not None for hull in hulls):
            found = bound([hull for hull in hulls if hull is not None])
            known = _tighter(known, found, len(called))
            called.append(tuples)
            if max(map(len, tuples)) == 1 or (known.lower >= 1 - good).all():
                settled.append(Node(tuples, known))
                continue
        frontier.add(*(Node(half, known) for half in _halves(laws, tuples)))
    settled += frontier.waiting
    lower, upper = _sum([(weight_of(shares, node.tuples), node.known) for node in settled])
    if len(settled) == 1 and settled[0].known is not None:  # one node of all tuples
        lower, upper = settled[0].known[:2]
    return MixtureBounds(lower, upper, tuple(called), tuple(settled))


def _tighter(known: Known | None, found: Interval, call: int) -> Known:
    """The better of the bounds of a larger node and the bounds that a call found."""
    here = torch.full_like(found[0], call, dtype=torch.int64)
    if known is None:
        return Known(*found, here, here)
    return Known(
        torch.maximum(known.lower, found[0]),
        torch.minimum(known.upper, found[1]),
        torch.where(found[0] > known.lower, here, known.below),
        torch.where(found[1] < known.upper, here, known.above),
    )


def _sum(nodes: Sequence[tuple[Enclosure, Known | None]]) -> Interval:
    """Σ π L and Σ π U; a node without bounds counts with L = 0 and U = 1."""
    bounded = [(weight, known) for weight, known in nodes if known is not None]
    weights = Enclosure.stack([weight for weight, _ in bounded]).clamp(least=0.0)
    lowers, uppers = (torch.stack([known[side] for _, known in bounded], dim=-1) for side in (0, 1))
    left_out = (1 - weights.sum()).clamp(least=0.0)
    lower = (weights * lowers).sum().lower.clamp(0.0, 1.0)
    return lower, ((weights * uppers).sum() + left_out).upper.clamp(0.0, 1.0)


def weights_of(law: Law) -> Enclosure:
    """The normalised weights of a law's components."""
    if not isinstance(law, GaussianMixture):
        if len(law.components) != 1:
            raise ShapeMismatch(f"projected events need a Gaussian or a mixture, not a {type(law).__name__}")
        return Enclosure.exactly(law.loc.new_ones(1))
    return law.shares


def weight_of(shares: Sequence[Enclosure], node: IndexProduct) -> Enclosure:
    """Π_i Σ_{k ∈ S_i} π_{i,k}; a client's sum over all its components is exactly 1."""
    weight = Enclosure.exactly(1.0)
    for own, chosen in zip(shares, node, strict=True):
        if len(chosen) < len(own.lower):
            weight = weight * own[list(chosen)].sum()
    return weight.clamp(0.0, 1.0)


def _hull(law: Law, chosen: Sequence[int]) -> GaussianLaw | None:
    """A law that encloses some components; None if they are too far apart for it to be worth bounding."""
    if len(chosen) == 1:
        return law.components[chosen[0]]
    components = diagonal_components(law)
    parts = [components[k] for k in chosen]
    if any(part.loc_error is not None or part.scale_error for part in parts):
        return None  # laws that stand for several laws are bounded one by one
    first = parts[0]
    near = all(((part.loc - first.loc).abs() <= MAX_MEAN_DISTANCE * first.scale).all() for part in parts)
    ratios = [(part.scale / first.scale - 1).abs().nan_to_num(nan=0.0) for part in parts]  # 0/0: both fixed
    alike = all((ratio <= MAX_SCALE_DIFFERENCE).all() for ratio in ratios)
    return enclosing(parts) if near and alike else None


def enclosing(laws: Sequence[DiagonalLaw]) -> DiagonalGaussian:
    """A law with errors so large that all the given laws are among those it stands for.

    Args:
        laws: exact Gaussians of one dimension, whose scales differ by at most a factor of 2.
    """
    if any(law.loc_error is not None or law.scale_error for law in laws):
        raise InvalidLaw("laws with errors of their own cannot be enclosed: their errors would be lost")
    locs, scales = (torch.stack([getattr(law, name) for law in laws]) for name in ("loc", "scale"))
    loc = (locs.amin(0) + locs.amax(0)) / 2
    scale = (scales.amin(0) + scales.amax(0)) / 2
    loc_error = up((locs - loc).abs().amax(0))
    ratio = torch.where(scale == 0, 0.0, up(up((scales - scale).abs().amax(0)) / scale))
    return DiagonalGaussian(loc, scale, loc_error, ratio.max().item())


def _halves(laws: Sequence[Law], node: IndexProduct) -> tuple[IndexProduct, IndexProduct]:
    """The node cut in two at the client whose components are farthest apart, in deviations."""
    spread = {i: _farthest(laws[i], chosen) for i, chosen in enumerate(node) if len(chosen) > 1}
    client = max(spread, key=lambda i: spread[i][0])
    _, first, second = spread[client]
    near = [
        k for k in node[client] if _distance(laws[client], k, first) <= _distance(laws[client], k, second)
    ]
    near = [k for k in near if k != second]
    rest = [k for k in node[client] if k not in near]
    one, other = ((*node[:client], tuple(half), *node[client + 1 :]) for half in (near, rest))
    return one, other


def _farthest(law: Law, chosen: Sequence[int]) -> tuple[float, int, int]:
    """Two components that are far apart: the one farthest from the first, and the one farthest from it."""
    second = max(chosen[1:], key=lambda k: _distance(law, k, chosen[0]))
    first = max((k for k in chosen if k != second), key=lambda k: _distance(law, k, second))
    return _distance(law, first, second), first, second


def _distance(law: Law, i: int, j: int) -> float:
    """How far apart two components are, in deviations; it only chooses where to split."""
    components = diagonal_components(law)
    one, other = components[i], components[j]
    apart = ((one.loc - other.loc) / one.scale).abs().nan_to_num(nan=0.0).max()  # 0/0: equal and fixed
    return (apart + (one.scale / other.scale).log().abs().nan_to_num(nan=0.0).max()).item()
