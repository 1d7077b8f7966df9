"""Splitting: tile the clients' boxes ever finer, where a few parameters make that worth while."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.certificate import Certificate, Claim, Kind
from fedcert.families.mean_box.costs import log_costs
from fedcert.laws import BoxMeasurable, diagonal_components
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.verify import Safe

BATCH = 64  # products verified in one call, heaviest first
RADIUS = 6.0  # deviations that the first box spans


def certify_splitting(
    laws: Sequence[BoxMeasurable],
    rule: AggregationRule,
    safe: Safe,
    budget: int,
    events: str,
    kind: Kind = "transported",
    track: Tracker = silent,
) -> Certificate:
    """L = Σ over accepted products Π_i H_i of Π_i q_i(H_i); the products tile the clients' first boxes.

    A product whose image is not proven safe is cut in two across one coordinate of one client, so the
    products are disjoint by construction, faces apart. The heaviest comes first, and whenever the search
    stops its sum is a sound bound. With growing budget it climbs to the probability of what the
    verifier can prove of single networks.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        safe: SAFE, the verifier and the properties.
        budget: the most products verified for a property.
        events: the name of the family of events.
        kind: what the certificate claims.
        track: shows progress.
    """
    lower = split_boxes(laws, rule, safe, budget, track).lower
    return Certificate(Claim(kind, rule.name, events), lower)


class Tiles(NamedTuple):
    """Disjoint products of boxes whose images are proven safe, and what they weigh.

    Attributes:
        lower: a lower bound of the mass of each property's products.
        products: for each property its products, with one box a client.
    """

    lower: Float64[Tensor, "P"]
    products: list[list[Box]]


def split_boxes(
    laws: Sequence[BoxMeasurable], rule: AggregationRule, safe: Safe, budget: int, track: Tracker = silent
) -> Tiles:
    """The products that `certify_splitting` adds up.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        safe: SAFE, the verifier and the properties.
        budget: the most products verified for a property.
        track: shows progress.
    """
    total = len(safe.properties)
    index = torch.arange(total, device=laws[0].loc.device)
    lower = torch.zeros(total, dtype=torch.float64, device=laws[0].loc.device)
    products = []
    for p in track(range(total), "splitting boxes", total):
        lower[p], accepted = _Tiling(laws, rule, safe.only(index == p)).run(budget)
        products.append(accepted)
    return Tiles(lower, products)


@dataclass(frozen=True)
class _Tiling:
    """The search for one property."""

    laws: Sequence[BoxMeasurable]
    rule: AggregationRule
    safe: Safe

    def run(self, budget: int) -> tuple[float, list[Box]]:
        """Best-first splitting from the box of all components: the mass of what is proven, and its boxes."""
        weight = log_costs(
            self.safe.network,
            self.rule([law.loc for law in self.laws]),
            self.safe.properties,
            torch.ones_like(self.laws[0].loc),
            by_layer=False,
        )[0].exp()
        number = count()  # settles ties, since boxes have no order
        first = [_span(law) for law in self.laws]
        frontier = [(-1.0, next(number), Box.stack(first))]
        bound, calls = Enclosure.exactly(0.0), 0
        accepted: list[Box] = []
        while frontier and calls < budget:
            nodes = [heapq.heappop(frontier)[2] for _ in range(min(BATCH, budget - calls, len(frontier)))]
            calls += len(nodes)
            images = [self.rule.image([node[i] for i in range(len(self.laws))]) for node in nodes]
            for node, proven in zip(nodes, self.safe(Box.stack(images))[:, 0].tolist(), strict=True):
                if proven:
                    bound = (bound + self.mass(node)).clamp(least=0.0)
                    accepted.append(node)
                    continue
                for half in _halves(node, weight):
                    if (mass := self.mass(half).lower.item()) > 0:
                        heapq.heappush(frontier, (-mass, next(number), half))
        return bound.lower.item(), accepted

    def mass(self, node: Box) -> Enclosure:
        """Π_i p_i for lower bounds p_i of the masses q_i(H_i)."""
        masses = torch.stack([law.log_mass(node[i]) for i, law in enumerate(self.laws)])
        return Enclosure.between(masses, masses).sum().exp()


def _span(law: BoxMeasurable) -> Box:
    """The smallest box around all components' boxes of six deviations."""
    boxes = Box.stack([Box.around(part.loc, RADIUS * part.scale) for part in diagonal_components(law)])
    return Box(boxes.lower.amin(0), boxes.upper.amax(0))


def _halves(node: Box, weight: Float64[Tensor, "n_w"]) -> list[Box]:
    """Cut the client and coordinate whose width costs most, in the middle."""
    client, d = divmod(int(((node.upper - node.lower) * weight).argmax()), node.shape[-1])
    middle = (node.lower[client, d] + node.upper[client, d]) / 2
    if not (math.isfinite(middle) and node.lower[client, d] < middle < node.upper[client, d]):
        return []
    lower, upper = node.lower.clone(), node.upper.clone()
    lower[client, d], upper[client, d] = middle, middle
    return [Box(node.lower, upper), Box(lower, node.upper)]
