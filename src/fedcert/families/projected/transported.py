"""Transported certificates from projected events: cells of the clients' own projections."""

from collections.abc import Sequence

import torch

from fedcert.certificate import Certificate, Claim
from fedcert.errors import ShapeMismatch
from fedcert.families.projected.chain import Federation
from fedcert.families.projected.choices import Choices, least_chained_violation
from fedcert.families.projected.components import MAX_BOUNDS, Interval, bounds_and_witness
from fedcert.families.projected.direct import EVENTS, complement
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.split import GOOD_ENOUGH
from fedcert.families.projected.tails import Cells, Projections
from fedcert.laws import SMALLEST, DiagonalGaussian, DiagonalLaw, Law
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.rounding import require_gradual_underflow
from fedcert.progress import Tracker, silent
from fedcert.rules import LinearMap

PROPERTIES = 25  # that are worked on at a time


def certify_projected(
    laws: Sequence[Law],
    rule: LinearMap,
    network: Network,
    properties: Properties,
    projections: Projections | None = None,
    budget: int = MAX_BOUNDS,
    track: Tracker = silent,
) -> Certificate:
    """L ≤ Pr(A(Θ_1, …, Θ_n) ∈ S) from events of the clients' own laws, for each property.

    All that the network sees of the weights are projections Σ_i P_i, P_i of client i's weights. Their sum's
    tail is bounded by that of independent normals with the same bounds of their deviations (twice that
    tail where deviations depend on the layers before), and the latter by tuples of disjoint cells, whose
    masses multiply. A tuple of mixture components is one Gaussian problem.

    Args:
        laws: the clients' posteriors, Gaussians or mixtures of them.
        rule: the deployed rule, linear in each client's parameters.
        network: f_θ.
        properties: the properties to prove.
        projections: slabs, cells or their limit; 512 cells a client where None.
        budget: the most bounds of tuples of components.
        track: shows progress.
    """
    if len(laws) != rule.clients:
        raise ShapeMismatch(f"laws of {len(laws)} clients, a rule for {rule.clients}")
    require_gradual_underflow()
    projections = projections or Cells()
    parts = [slice(i, i + PROPERTIES) for i in range(0, len(properties), PROPERTIES)]

    def bound(components: Sequence[DiagonalLaw]) -> tuple[Interval, Choices]:
        federation = client_layers(components, rule, network)
        found = [
            least_chained_violation(federation, properties[part], projections)
            for part in track(parts, "transporting projections")
        ]
        lower = complement(torch.cat([violated for violated, _ in found]))
        choices = {name: torch.cat([c[name] for _, c in found]) for name in found[0][1]}
        cells = torch.tensor([projections.cells], dtype=torch.int32)
        return (lower, torch.ones_like(lower)), {"cells": cells, **choices}

    (lower, _), witness = bounds_and_witness(laws, bound, budget, GOOD_ENOUGH)
    return Certificate(Claim("transported", rule.name, EVENTS), lower, None, witness)


def client_layers(laws: Sequence[DiagonalLaw], rule: LinearMap, network: Network) -> Federation:
    """The deployed layers, and each client's share of their noise, of scale w_i σ_i.

    The product is rounded, which the scale's error allows for; a client of weight 0 gets the least scale.
    Laws that stand for several, by their errors, give layers that do.

    Args:
        laws: the clients' Gaussian laws.
        rule: gives the weights w_i.
        network: f_θ.
    """
    shares = [
        DiagonalGaussian(
            law.loc, (weight.abs() * law.scale).clamp(min=SMALLEST), None, 2.0**-50 + 2 * law.scale_error
        )
        for weight, law in zip(rule.weights, laws, strict=True)
    ]
    deployed = random_layers(network, rule.pushforward(laws))
    return Federation(deployed, [random_layers(network, share) for share in shares])
