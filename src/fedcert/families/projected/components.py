"""Tuples of mixture components, searched by their hulls: one bound may serve many tuples.

A tuple of components, one of each client's mixture, deploys one Gaussian law, and the deployed law is the
mixture of these with weights Π_i π_{i,k_i}. A node S_1 × … × S_n stands for all its tuples; a bound for all
laws that lie between its components holds for each of them, so that

    Σ_nodes π_node L_node ≤ Pr(safe) ≤ Σ_nodes π_node U_node,   π_node = Π_i Σ_{k ∈ S_i} π_{i,k},

for any nodes that are disjoint and cover all tuples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidConfig, InvalidLaw, ShapeMismatch
from fedcert.families.projected.choices import Choices
from fedcert.laws import DiagonalGaussian, DiagonalLaw, GaussianMixture, Law, diagonal_components
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import up
from fedcert.search import BestFirst, IndexProduct
from fedcert.witness import Witness

MAX_BOUNDS = 256
"""Bounds that are tried for mixture laws, the heaviest tuples first."""
MAX_MEAN_DISTANCE = 0.1  # deviations that the means of a hull may differ by, for its bound to be worth trying
MAX_SCALE_DIFFERENCE = 1e-4  # relative difference of its deviations

Interval = tuple[Float64[Tensor, "P"], Float64[Tensor, "P"]]
Bound = Callable[[Sequence[DiagonalLaw]], Interval]
BoundWithChoices = Callable[[Sequence[DiagonalLaw]], tuple[Interval, Choices]]


@dataclass(frozen=True)
class MixtureBounds:
    """The bounds of a mixture, and how many bounds of Gaussian laws they took.

    Attributes:
        lower: L, for each property.
        upper: U, for each property.
        calls: bounds that were asked for.
    """

    lower: Float64[Tensor, "P"]
    upper: Float64[Tensor, "P"]
    calls: int


def bounds_and_witness(
    laws: Sequence[Law], bound: BoundWithChoices, budget: int, good: float
) -> tuple[Interval, Witness | None]:
    """The bounds of Gaussian laws with the witness of their choices, or of mixtures, which have none.

    Args:
        laws: the clients' laws, Gaussians or mixtures of them.
        bound: L and U for one law a client, or for all laws that these enclose, and the choices made.
        budget: the most bounds that are tried.
        good: 1 − L that needs no splitting.
    """
    if budget < 1:
        raise InvalidConfig(f"at least one tuple of components must be bounded, not {budget}")
    if all(len(law.components) == 1 for law in laws):
        found, choices = bound([diagonal_components(law)[0] for law in laws])
        return found, Witness(choices)
    mixture = mixture_bounds(laws, lambda components: bound(components)[0], budget, good)
    return (mixture.lower, mixture.upper), None


class _Node(NamedTuple):
    """Tuples of components, and the bounds that are known of all of them."""

    tuples: IndexProduct
    known: Interval | None


def mixture_bounds(laws: Sequence[Law], bound: Bound, budget: int, good: float) -> MixtureBounds:
    """Bounds of the probability of safety for a mixture of tuples, the node of the heaviest tuple first.

    A node whose components are close to each other is bounded as a whole; where that leaves more than `good`
    open, and where they are not close, it is split in two. A tuple beyond the budget keeps the bounds of the
    node that it was split from, at worst 0 and 1.

    Args:
        laws: the clients' laws, Gaussians or mixtures of them.
        bound: L and U for one law a client, or for all laws that these enclose.
        budget: the most bounds that are tried.
        good: 1 − L that needs no splitting.
    """
    shares = [weights_of(law) for law in laws]

    def key(node: _Node) -> tuple[float, int]:
        chosen = zip(shares, node.tuples, strict=True)
        return -prod(own.lower[list(k)].max().item() for own, k in chosen), prod(map(len, node.tuples))

    everything = tuple(tuple(range(len(law.components))) for law in laws)
    frontier, calls = BestFirst(key, _Node(everything, None)), 0
    settled: list[_Node] = []
    while frontier and calls < budget:
        tuples, known = next(frontier)
        hulls = [_hull(law, chosen) for law, chosen in zip(laws, tuples, strict=True)]
        if all(hull is not None for hull in hulls):
            known = _tighter(known, bound([hull for hull in hulls if hull is not None]))
            calls += 1
            if max(map(len, tuples)) == 1 or (known[0] >= 1 - good).all():
                settled.append(_Node(tuples, known))
                continue
        frontier.add(*(_Node(half, known) for half in _halves(laws, tuples)))
    settled += frontier.waiting
    if len(settled) == 1 and settled[0].known is not None:  # one node of all tuples
        return MixtureBounds(*settled[0].known, calls)
    return _sum([(weight_of(shares, node.tuples), node.known) for node in settled], calls)


def _tighter(known: Interval | None, found: Interval) -> Interval:
    """The better of what was known of a larger node and what was found."""
    if known is None:
        return found
    return torch.maximum(known[0], found[0]), torch.minimum(known[1], found[1])


def _sum(nodes: Sequence[tuple[Enclosure, Interval | None]], calls: int) -> MixtureBounds:
    """Σ π L and Σ π U; nodes of which nothing is known count 0 and fully."""
    bounded = [(weight, known) for weight, known in nodes if known is not None]
    weights = Enclosure.stack([weight for weight, _ in bounded]).clamp(least=0.0)
    lowers, uppers = (torch.stack([known[side] for _, known in bounded], dim=-1) for side in (0, 1))
    left_out = (1 - weights.sum()).clamp(least=0.0)
    lower = (weights * lowers).sum().lower.clamp(0.0, 1.0)
    return MixtureBounds(lower, ((weights * uppers).sum() + left_out).upper.clamp(0.0, 1.0), calls)


def weights_of(law: Law) -> Enclosure:
    """The normalised weights of a law's components."""
    if not isinstance(law, GaussianMixture):
        if len(law.components) != 1:
            raise ShapeMismatch(f"projected events need a Gaussian or a mixture, not a {type(law).__name__}")
        return Enclosure.exactly(law.loc.new_ones(1))
    weights = Enclosure.exactly(law.weights)
    return (weights / weights.sum()).clamp(0.0, 1.0)


def weight_of(shares: Sequence[Enclosure], node: IndexProduct) -> Enclosure:
    """Π_i Σ_{k ∈ S_i} π_{i,k}; a client's sum over all its components is exactly 1."""
    weight = Enclosure.exactly(1.0)
    for own, chosen in zip(shares, node, strict=True):
        if len(chosen) < len(own.lower):
            weight = weight * own[list(chosen)].sum()
    return weight.clamp(0.0, 1.0)


def _hull(law: Law, chosen: Sequence[int]) -> DiagonalLaw | None:
    """A law that encloses some components, where they are so close that it is worth a bound."""
    components = diagonal_components(law)
    parts = [components[k] for k in chosen]
    if len(parts) == 1:
        return parts[0]
    if any(part.loc_error is not None or part.scale_error for part in parts):
        return None  # laws that stand for several are bounded one by one
    first = parts[0]
    near = all(((part.loc - first.loc).abs() <= MAX_MEAN_DISTANCE * first.scale).all() for part in parts)
    alike = all(((part.scale / first.scale - 1).abs() <= MAX_SCALE_DIFFERENCE).all() for part in parts)
    return enclosing(parts) if near and alike else None


def enclosing(laws: Sequence[DiagonalLaw]) -> DiagonalGaussian:
    """A law with errors so large that all the given ones are among those it stands for.

    Args:
        laws: exact Gaussians of one dimension, whose scales differ by a factor of 2 at most.
    """
    if any(law.loc_error is not None or law.scale_error for law in laws):
        raise InvalidLaw("laws with errors of their own cannot be enclosed: their errors would be lost")
    locs, scales = (torch.stack([getattr(law, name) for law in laws]) for name in ("loc", "scale"))
    loc = (locs.amin(0) + locs.amax(0)) / 2
    scale = (scales.amin(0) + scales.amax(0)) / 2
    loc_error = up((locs - loc).abs().amax(0))
    ratio = up(up((scales - scale).abs().amax(0)) / scale)
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
    """How far two components are apart, in deviations; it only chooses where to split."""
    components = diagonal_components(law)
    one, other = components[i], components[j]
    apart = ((one.loc - other.loc) / one.scale).abs().max() + (one.scale / other.scale).log().abs().max()
    return apart.item()
