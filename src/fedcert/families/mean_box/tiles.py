"""Splitting: tile the clients' boxes ever finer, which is worthwhile for few parameters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.families.mean_box.costs import log_costs
from fedcert.laws import BoxMeasurable, around, diagonal_components
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.search import BestFirst
from fedcert.verify import Safe

MAX_PRODUCTS_PER_CALL = 64  # maximum number of products verified in one call, heaviest first
FIRST_RADIUS = 6.0  # radius of the first box, in deviations


class ProvenProducts(NamedTuple):
    """Disjoint products of boxes whose images are proven safe, with their masses.

    Attributes:
        lower: a lower bound of the mass of each property's products.
        products: the products of each property, with one box per client.
    """

    lower: Float64[Tensor, "P"]
    products: list[list[Box]]


def split_boxes(
    laws: Sequence[BoxMeasurable], rule: AggregationRule, safe: Safe, budget: int, track: Tracker = silent
) -> ProvenProducts:
    """L = Σ over accepted products Π_i H_i of Π_i q_i(H_i); the products tile the clients' first boxes.

    A product whose image is not proven safe is cut in two across one coordinate of one client, so the
    products are disjoint by construction, except for their faces. The heaviest product comes first, and
    whenever the search stops its sum is a sound bound. As the budget grows, the bound approaches the
    probability of the single networks that the verifier can prove safe.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        safe: SAFE, the verifier and the properties.
        budget: the maximum number of products verified per property.
        track: shows progress.
    """
    total = len(safe.properties)
    index = torch.arange(total, device=laws[0].loc.device)
    lower = torch.zeros(total, dtype=torch.float64, device=laws[0].loc.device)
    products = []
    for p in track(range(total), "splitting boxes", total):
        lower[p], accepted = _Tiling(laws, rule, safe.only(index == p)).run(budget)
        products.append(accepted)
    return ProvenProducts(lower, products)


class _Product(NamedTuple):
    """A product of boxes, one per client, and its approximate mass."""

    box: Box
    mass: float


@dataclass(frozen=True)
class _Tiling:
    """The search for one property."""

    laws: Sequence[BoxMeasurable]
    rule: AggregationRule
    safe: Safe

    def run(self, budget: int) -> tuple[float, list[Box]]:
        """Best-first splitting from the box of all components: the proven mass, and the proven products."""
        weight = log_costs(
            self.safe.network,
            self.rule([law.loc for law in self.laws]),
            self.safe.properties,
            torch.ones_like(self.laws[0].loc),
            by_layer=False,
        )[0].exp()
        first = _Product(Box.stack([_span(law) for law in self.laws]), 1.0)
        frontier = BestFirst(lambda product: -product.mass, first)
        bound, left = Enclosure.exactly(0.0), budget
        accepted: list[Box] = []
        while nodes := [node.box for node in islice(frontier, min(MAX_PRODUCTS_PER_CALL, left))]:
            left -= len(nodes)
            images = [self.rule.image([node[i] for i in range(len(self.laws))]) for node in nodes]
            for node, proven in zip(nodes, self.safe(Box.stack(images))[:, 0].tolist(), strict=True):
                if proven:
                    bound = (bound + self.mass(node)).clamp(least=0.0)
                    accepted.append(node)
                    continue
                halves = [_Product(half, self.mass(half).lower.item()) for half in _halves(node, weight)]
                frontier.add(*(half for half in halves if half.mass > 0))
        return bound.lower.item(), accepted

    def mass(self, node: Box) -> Enclosure:
        """Π_i p_i for lower bounds p_i of the masses q_i(H_i)."""
        masses = torch.stack([law.log_mass(node[i]) for i, law in enumerate(self.laws)])
        return Enclosure.between(masses, masses).sum().exp()


def _span(law: BoxMeasurable) -> Box:
    """The smallest box around all components' boxes of six deviations."""
    boxes = Box.stack([around(part, part.loc, FIRST_RADIUS) for part in diagonal_components(law)])
    return Box(boxes.lower.amin(0), boxes.upper.amax(0))


def _halves(node: Box, weight: Float64[Tensor, "n_w"]) -> list[Box]:
    """The two halves of a product, cut at the client and coordinate whose width costs most, if possible."""
    client, d = divmod(int(((node.upper - node.lower) * weight).argmax()), node.shape[-1])
    middle = (node.lower[client, d] + node.upper[client, d]) / 2
    if not (math.isfinite(middle) and node.lower[client, d] < middle < node.upper[client, d]):
        return []
    lower, upper = node.lower.clone(), node.upper.clone()
    lower[client, d], upper[client, d] = middle, middle
    return [Box(node.lower, upper), Box(lower, node.upper)]
