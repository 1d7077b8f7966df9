"""Transported certificates from projected events: boxes of clients' parameters, or cells of projections."""

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.certificate import Certificate, Claim
from fedcert.errors import ShapeMismatch
from fedcert.families.problem import Problem
from fedcert.families.projected.boxes import Boxes
from fedcert.families.projected.chain import Federation
from fedcert.families.projected.choices import Choices, least_chained_violation
from fedcert.families.projected.components import MAX_BOUNDS, Interval
from fedcert.families.projected.direct import EVENTS, by_pieces, complement, lower_bound, split_of
from fedcert.families.projected.features import of_features
from fedcert.families.projected.layers import random_layers, rectified
from fedcert.families.projected.nodes import bounds_and_witness
from fedcert.families.projected.split import GOOD_ENOUGH
from fedcert.families.projected.tails import Projections
from fedcert.laws import SMALLEST, DiagonalGaussian, DiagonalLaw, GaussianLaw
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.rounding import require_gradual_underflow
from fedcert.progress import Tracker, silent
from fedcert.rules import LinearMap, LinearRule
from fedcert.witness import Witness

PROPERTIES = 25  # maximum number of properties bounded at a time


def certify_projected(
    problem: Problem,
    projections: Projections | None = None,
    budget: int = MAX_BOUNDS,
    track: Tracker = silent,
) -> Certificate:
    """L ≤ Pr(A(Θ_1, …, Θ_n) ∈ S) from disjoint events of the clients' own laws, for each property.

    The events are the boxes of a fine grid (`boxes.py`), or cells of the scalar projections through which the
    network sees the weights. A tuple of mixture components is one Gaussian problem.

    Args:
        problem: Gaussian clients or mixtures of them, under a rule that is linear in their parameters.
        projections: slabs, cells or their limit; None for boxes.
        budget: the maximum number of bounds of tuples of components.
        track: shows progress.
    """
    require_gradual_underflow()
    if not isinstance(problem.rule, LinearMap):
        raise ShapeMismatch(f"the rule {problem.rule.name} is not linear: no events can be transported")
    if projections is None:
        bound, made_of = partial(_by_boxes, problem, track), ("boxes", Boxes().bits)
    else:
        bound, made_of = partial(_by_cells, problem, projections, track), ("cells", projections.cells)
    (lower, _), witness = bounds_and_witness(problem.laws, bound, budget, GOOD_ENOUGH)
    name, number = made_of
    chosen = Witness({name: torch.tensor([number], dtype=torch.int32), **witness.tensors})
    return Certificate(Claim("transported", problem.rule.name, EVENTS), lower, None, chosen)


def _by_boxes(
    problem: Problem, track: Tracker, components: Sequence[GaussianLaw]
) -> tuple[Interval, Choices]:
    """The bound under the deployed law, of margins that all networks of a tuple's image share."""
    law, asked = problem.deploy(components), problem.properties
    features = of_features(problem.network, law, asked)
    lowered, known = Boxes().tightened(random_layers(problem.network, law), features)
    tightened = Properties(asked.regions, asked.C, lowered.d)
    split = split_of(problem, law, track)
    lower, choices = lower_bound(problem.network, law, tightened, track, split)
    if split is not None and problem.gaussian:
        lower, choices = by_pieces(problem, tightened, split.split, (lower, choices))
    lower = torch.where(known, lower, 0.0)
    return (lower, torch.ones_like(lower)), choices


def _by_cells(
    problem: Problem, projections: Projections, track: Tracker, components: Sequence[GaussianLaw]
) -> tuple[Interval, Choices]:
    """The network sees the weights only through projections Σ_i P_i, P_i one of client i's weights.

    The tail of this sum is bounded by that of independent normals with the same bounds of their deviations
    (twice that tail where deviations depend on the layers before), and the latter by tuples of disjoint
    cells, whose masses multiply.
    """
    rule, properties = problem.rule, problem.properties
    if not isinstance(rule, LinearMap):
        raise ShapeMismatch(f"the rule {rule.name} is not linear: no projections can be transported")
    federation = client_layers(components, rule, problem.network, problem.deploy(components))
    parts = [slice(i, i + PROPERTIES) for i in range(0, len(properties), PROPERTIES)]
    asked = of_features(problem.network, problem.deploy(components), properties)
    found = [
        least_chained_violation(federation, asked[part], projections)
        for part in track(parts, "transporting projections")
    ]
    lower = complement(torch.cat([violated for violated, _ in found]))
    choices = {name: torch.cat([c[name] for _, c in found]) for name in found[0][1]}
    return (lower, torch.ones_like(lower)), choices


def client_layers(
    laws: Sequence[GaussianLaw], rule: LinearMap, network: Network, deployed: GaussianLaw
) -> Federation:
    """The deployed layers, and each client's share of their noise, of scale w_i σ_i or factor w_i F_i.

    The product is rounded, which the scale's error allows for; where it would underflow it gets the smallest
    scale. Laws that stand for several laws, through their errors, give layers that do the same.

    Args:
        laws: one Gaussian per client.
        rule: gives the weights w_i.
        network: f_θ.
        deployed: the law that the rule makes of them.
    """
    shares = [_share(weight, law) for weight, law in zip(rule.weights, laws, strict=True)]
    clients = [random_layers(network, share) for share in shares]
    return Federation(random_layers(network, deployed), clients, rectified(network))


def _share(weight: Float64[Tensor, "n_w_or_1"], law: GaussianLaw) -> GaussianLaw:
    """The law of a client's noise, w_i times its own."""
    if not isinstance(law, DiagonalLaw):
        return LinearRule(weight.unsqueeze(0)).pushforward([law])
    silent = (weight == 0) | (law.scale == 0)
    scale = torch.where(silent, 0.0, (weight.abs() * law.scale).clamp(min=SMALLEST))
    return DiagonalGaussian(law.loc, scale, None, 2.0**-50 + 2 * law.scale_error)
