"""Hull search: decides many tuples of cells at once, best first, without enumerating them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from math import prod

import torch
from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.errors import ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.numerics.box import Box
from fedcert.numerics.enclosure import Enclosure
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.search import BestFirst, IndexProduct, heaviest_first
from fedcert.verify import Safe
from fedcert.witness import Witness

MAX_SPLIT_CANDIDATES = 8  # maximum number of clients whose split is tried, those with the largest gain


def certify_hulls(
    cells: Sequence[Cells],
    rule: AggregationRule,
    safe: Safe,
    budget: int,
    events: str,
    track: Tracker = silent,
) -> Certificate:
    """L = Σ over accepted nodes of Π_i Σ_{k ∈ S_i} p_{i,k}: a node S_1 × … × S_n stands for all its tuples.

    A proof for a box is a proof for every box inside it. So if the image of Π_i hull(S_i) is proven safe, so
    is the image of every tuple of the node: one verifier call decides Π|S_i| tuples. A node that is not
    accepted is split in two, at the client whose split shrinks the image most; the heaviest node comes
    first. Nodes are disjoint by construction, so whenever the search stops, its sum is a sound bound. A
    search that runs to the end has decided every tuple, and equals exhaustive enumeration for a verifier
    that is monotone (interval bounds are).

    If the budget of calls is used up first, the heaviest tuples that are still undecided are tried one by
    one, with the same budget again, so that the bound is never below that of heaviest-first search.

    Args:
        cells: C_i, each client's cells and masses.
        rule: A, the deployed rule.
        safe: SAFE, the verifier and the properties.
        budget: the maximum number of calls per property for nodes, and again for single tuples.
        events: the name of the family that the cells come from.
        track: shows progress.
    """
    if len(cells) != rule.clients:
        raise ShapeMismatch(f"cells of {len(cells)} clients, a rule for {rule.clients}")
    count = len(safe.properties)
    members = [own.members(count) for own in cells]
    lower = torch.zeros(count, dtype=torch.float64, device=cells[0].log_mass.device)
    index = torch.arange(count, device=lower.device)
    nodes: list[tuple[int, IndexProduct]] = []
    for p in track(range(count), "searching hulls", count):
        root = tuple(tuple(member[p].nonzero().squeeze(-1).tolist()) for member in members)
        if all(root):
            search = _HullSearch(cells, rule, safe.only(index == p))
            found = search.run(root, budget)
            lower[p] = search.total(found)
            nodes += [(p, node) for node in found]
    return Certificate(Claim("transported", rule.name, events), lower, witness=Witness(node_tensors(nodes)))


def node_tensors(nodes: Sequence[tuple[int, IndexProduct]]) -> dict[str, Tensor]:
    """The accepted nodes: the property of each node, and its clients' sets of cells, concatenated.

    Args:
        nodes: each with its property.
    """
    sets = [indices for _, node in nodes for indices in node]
    ends = list(accumulate(len(indices) for indices in sets))
    tensors = {
        "nodes.property": [p for p, _ in nodes],
        "nodes.offsets": [0, *ends],
        "nodes.cells": [k for indices in sets for k in indices],
    }
    return {name: torch.tensor(values, dtype=torch.int32) for name, values in tensors.items()}


def nodes_of(witness: Witness | None, clients: int) -> list[tuple[int, IndexProduct]]:
    """The nodes that `node_tensors` made tensors of, each with its property.

    Args:
        witness: of a certificate of hulls; None for no nodes.
        clients: n, the number of sets that a node has.
    """
    if witness is None:
        return []
    offsets, members = (witness.tensors[f"nodes.{name}"].tolist() for name in ("offsets", "cells"))
    sets = [tuple(members[start:end]) for start, end in pairwise(offsets)]
    owners = witness.tensors["nodes.property"].tolist()
    return [(p, tuple(sets[t * clients : (t + 1) * clients])) for t, p in enumerate(owners)]


@dataclass(frozen=True)
class _HullSearch:
    """The search for one property."""

    cells: Sequence[Cells]
    rule: AggregationRule
    safe: Safe

    def run(self, root: IndexProduct, budget: int) -> list[IndexProduct]:
        """The accepted nodes of best-first branch and bound from the root.

        If the budget is used up, single tuples follow.
        """
        frontier = BestFirst(lambda node: (-self.estimate(node), node), root)
        accepted: list[IndexProduct] = []
        rejected: set[tuple[int, ...]] = set()
        for node in islice(frontier, budget):
            if self.proven(node):
                accepted.append(node)
            elif all(len(indices) == 1 for indices in node):
                rejected.add(tuple(indices[0] for indices in node))
            else:
                frontier.add(*self.split(node))
        if frontier:
            accepted += self.singles(root, accepted, rejected, budget)
        return accepted

    def total(self, accepted: Sequence[IndexProduct]) -> float:
        """A lower bound of the mass of disjoint nodes."""
        masses = [self.mass(node) for node in accepted]
        return max(0.0, Enclosure.stack(masses).sum().lower.item()) if masses else 0.0

    def singles(
        self, root: IndexProduct, accepted: list[IndexProduct], rejected: set[tuple[int, ...]], budget: int
    ) -> list[IndexProduct]:
        """The heaviest tuples that no node has decided and that are proven individually."""
        masses = [[self.cells[i].log_mass[k].item() for k in root[i]] for i in range(len(root))]
        found: list[IndexProduct] = []
        for ranks in islice(heaviest_first(masses), budget):
            k = tuple(indices[r] for indices, r in zip(root, ranks, strict=True))
            if k in rejected or any(_contains(node, k) for node in accepted):
                continue
            single = tuple((i,) for i in k)
            if self.proven(single):
                found.append(single)
        return found

    def proven(self, node: IndexProduct) -> bool:
        """Whether the image of the product of the hulls is proven safe."""
        image = self.rule.image([self.hull(i, indices) for i, indices in enumerate(node)])
        return bool(self.safe(Box(image.lower.unsqueeze(0), image.upper.unsqueeze(0))).all())

    def hull(self, client: int, indices: Sequence[int]) -> Box:
        """The smallest box that contains some cells of a client."""
        boxes = self.cells[client].boxes[list(indices)]
        return Box(boxes.lower.amin(0), boxes.upper.amax(0))

    def estimate(self, node: IndexProduct) -> float:
        """The node's mass in floating point, for the order of the search."""
        parts = (self.cells[i].log_mass[list(indices)].exp().sum().item() for i, indices in enumerate(node))
        return prod(parts)

    def mass(self, node: IndexProduct) -> Enclosure:
        """Π_i Σ_{k ∈ S_i} p_{i,k}."""
        total = Enclosure.exactly(1.0)
        for i, indices in enumerate(node):
            own = self.cells[i].log_mass[list(indices)]
            total = total * Enclosure.between(own, own).exp().sum().clamp(least=0.0)
        return total

    def split(self, node: IndexProduct) -> tuple[IndexProduct, IndexProduct]:
        """The two halves of the node at the client whose split shrinks the image most."""
        hulls = [self.hull(i, indices) for i, indices in enumerate(node)]
        several = [i for i, indices in enumerate(node) if len(indices) > 1]
        halves = {i: self.halves(i, node[i]) for i in several}
        gain = {i: sum(_width(hulls[i]) - _width(self.hull(i, half)) for half in halves[i]) for i in several}
        widest = sorted(several, key=lambda i: -gain[i])[:MAX_SPLIT_CANDIDATES]
        client = min(widest, key=lambda i: self.image_width(hulls, i, halves[i]))
        first, second = ((*node[:client], half, *node[client + 1 :]) for half in halves[client])
        return first, second

    def image_width(self, hulls: list[Box], client: int, halves: tuple[tuple[int, ...], ...]) -> float:
        """The total width of the images of both halves."""
        images = (
            self.rule.image([*hulls[:client], self.hull(client, half), *hulls[client + 1 :]])
            for half in halves
        )
        return sum(_width(image) for image in images)

    def halves(self, client: int, indices: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The cells of a client on either side of the widest gap between centres along some coordinate."""
        boxes = self.cells[client].boxes[list(indices)]
        centers = boxes.lower + boxes.upper
        ordered = centers.sort(0)
        gaps = ordered.values.diff(dim=0)
        place = int(gaps.argmax())
        after, coordinate = divmod(place, centers.shape[1])
        order = [indices[k] for k in ordered.indices[:, coordinate].tolist()]
        return tuple(sorted(order[: after + 1])), tuple(sorted(order[after + 1 :]))


def _contains(node: IndexProduct, k: tuple[int, ...]) -> bool:
    return all(i in indices for i, indices in zip(k, node, strict=True))


def _width(box: Box) -> float:
    return (box.upper - box.lower).sum().item()
