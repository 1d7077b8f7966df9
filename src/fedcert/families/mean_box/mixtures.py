"""`box` certificates of mixtures: a cell for each component, and tuples of cells searched by their hulls."""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from fedcert.certificate import Certificate, Claim, Kind
from fedcert.families.cells import Cells
from fedcert.families.hull import certify_hulls, node_tensors, nodes_of
from fedcert.families.mean_box.events import MeanBox
from fedcert.laws import BoxMeasurable
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.search import IndexProduct
from fedcert.verify import Safe
from fedcert.witness import Witness

RADII = (8.0, 7.0, 6.0, 5.0, 4.0, 3.0)  # radii of boxes tried for mixtures, in deviations
Node = tuple[int, IndexProduct]


def certify_mixture_boxes(
    laws: Sequence[BoxMeasurable],
    rule: AggregationRule,
    safe: Safe,
    events: MeanBox,
    kind: Kind,
    budget: int,
    track: Tracker = silent,
) -> Certificate:
    """L = max over radii of the mass of the tuples of cells whose images are proven safe.

    Args:
        laws: q_i, the clients' posteriors, Gaussians or mixtures of them.
        rule: A, the deployed rule.
        safe: the verifier and the properties.
        events: makes the cells.
        kind: what the certificate claims.
        budget: verifier calls for each radius and property.
        track: shows progress.
    """
    tried = []
    for radius in track(RADII, "searching tuples of components"):
        cells = [events.cells(law, radius) for law in laws]
        tried.append((cells, certify_hulls(cells, rule, safe, budget, events.name)))
    lower, best = torch.stack([found.lower for _, found in tried]).max(0)
    chosen = [
        [(p, node) for p, node in nodes_of(found.witness, len(laws)) if best[p] == place]
        for place, (_, found) in enumerate(tried)
    ]
    witness = _witness([cells for cells, _ in tried], chosen)
    return Certificate(Claim(kind, rule.name, events.name), lower, witness=Witness(witness))


def _witness(tried: Sequence[Sequence[Cells]], chosen: Sequence[Sequence[Node]]) -> dict[str, Tensor]:
    """The accepted nodes of all radii, and the cells that they need, which no message holds."""
    clients = range(len(tried[0]))
    used = [
        [sorted({k for _, node in nodes for k in node[i]}) for nodes in chosen] for i in clients
    ]  # for each client and radius
    starts = [[0, *accumulate(map(len, own))] for own in used]
    nodes = [
        (p, tuple(tuple(starts[i][r] + used[i][r].index(k) for k in node[i]) for i in clients))
        for r, some in enumerate(chosen)
        for p, node in some
    ]
    tensors = node_tensors(nodes)
    for i in clients:
        for end in ("lower", "upper"):
            parts = [getattr(cells[i].boxes, end)[used[i][r]] for r, cells in enumerate(tried)]
            tensors[f"cells.{i}.{end}"] = torch.cat(parts).cpu()
    return tensors
