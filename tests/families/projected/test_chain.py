import itertools
import math
from dataclasses import replace

import pytest
import torch
from federated_problems import Federated, make_federated
from problems import normal, uniform
from scipy.stats import norm
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.projected.chain import Federation, chained_violation
from fedcert.families.projected.references import Conditional, Reference, Static
from fedcert.families.projected.spread import concentration, concentration_width
from fedcert.families.projected.tails import Cells, Limit, Product, Projections
from fedcert.families.projected.transported import client_layers
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream

REFERENCES: dict[str, Reference] = {"conditional": Conditional(), "static": Static()}
PROJECTIONS: dict[str, Projections] = {"limit": Limit(), "product": Product(), "cells": Cells(64)}
SURE = 1 - 1e-7


def federation(problem: Federated) -> Federation:
    laws = [law.components[0] for law in problem.laws]
    return client_layers(laws, problem.rule, problem.network, problem.rule.pushforward(laws))


def probability(
    problem: Federated | Federation,
    properties: Properties,
    reference: Reference | None = None,
    projections: Projections | None = None,
    failures: tuple[float, float] = (1e-5, 1e-8),
) -> Tensor:
    shared = problem if isinstance(problem, Federation) else federation(problem)
    ones = torch.ones(len(properties), dtype=torch.float64)
    ranges, failure = (each * ones for each in failures)
    kappa = -torch.special.ndtri(ranges)
    return chained_violation(shared, properties, kappa, failure, reference, projections).probability


@pytest.mark.slow
@pytest.mark.parametrize("projections", PROJECTIONS)
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.usefixtures("without_annotations")
def test_attacks_succeed_no_more_often_than_the_bound_says(
    depth: int, reference: str, projections: str
) -> None:
    """Offsets are quantiles of attacked margins, so that the true probability is near what is drawn."""
    said = []
    for seed in range(8):
        scale, radius = ((0.003, 1e-3), (0.02, 0.0), (0.1, 0.02), (0.5, 0.05))[seed % 4]
        problem = make_federated(
            seed + 100 * depth,
            (2, *[4] * (depth - 1), 2),
            scale,
            radius,
            clients=1 + seed % 3,
            constraints=1 + seed % 2,
            linear=seed == 5,
        )
        first, fresh = (problem.attacked(problem.deployed(1000)) for _ in range(2))
        d = -first.quantile((0.02, 0.1, 0.4)[seed % 3], dim=0).unsqueeze(0)
        low, _ = clopper_pearson(int((fresh + d < 0).any(-1).sum()), len(fresh), SURE)
        failures = (1e-5, 1e-8) if seed % 2 else (1e-3, 1e-4)
        found = probability(
            problem, problem.properties(d), REFERENCES[reference], PROJECTIONS[projections], failures
        ).item()
        assert low <= found
        said.append(found)
    assert min(said) < 0.7  # else the test says nothing


@pytest.mark.parametrize("reference", REFERENCES)
def test_one_layer_and_one_constraint_have_the_probability_of_a_half_space(reference: str) -> None:
    """No layer is conditional on another one, and no factor of two is paid."""
    problem = make_federated(3, (3, 2), 0.2, clients=3)
    margins = problem.attacked(problem.deployed(100_000))
    d = (1.5 * margins.std(0) - margins.mean(0)).unsqueeze(0)
    found = probability(problem, problem.properties(d), REFERENCES[reference]).item()
    low, high = clopper_pearson(int((margins + d[0] < 0).sum()), len(margins), SURE)
    assert low <= found <= high + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_clearly_safe_network_is_certified_and_a_clearly_unsafe_one_is_not(
    depth: int, reference: str
) -> None:
    problem = make_federated(depth, (3, *[6] * (depth - 1), 2), 1e-9, 1e-9, constraints=2)
    value = problem.attacked(problem.deployed(1))
    for projections in PROJECTIONS.values():
        safe, unsafe = (
            probability(problem, problem.properties(m - value), REFERENCES[reference], projections).item()
            for m in (0.1, -0.1)
        )
        assert safe < 1e-2
        assert unsafe == 1.0


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_slabs_cost_more_than_cells_and_cells_more_than_their_limit(depth: int) -> None:
    problem = make_federated(depth, (2, *[5] * (depth - 1), 2), 0.01, 1e-3, clients=4)
    properties = problem.properties(problem.offsets(4.0))
    limit, many, few, slabs = (
        probability(problem, properties, Conditional(), way).item()
        for way in (Limit(), Cells(512), Cells(64), Product())
    )
    assert limit <= many <= few
    assert many <= slabs
    assert limit < 0.3


@pytest.mark.parametrize("reference", REFERENCES)
def test_properties_are_bounded_one_by_one(reference: str) -> None:
    problem = make_federated(4, (3, 5, 4, 2), 0.01, clients=2)
    generator = stream(4, "properties")
    centres, C = normal(generator, 4, 3), normal(generator, 4, 2, 2)
    values = problem.network(problem.rule([law.loc for law in problem.laws]), centres)
    d = 0.3 - (C @ values.unsqueeze(-1)).squeeze(-1)
    properties = Properties(Box.around(centres, 0.01), C, d)
    together = probability(problem, properties, REFERENCES[reference], Cells(64))
    for p in range(4):
        alone = probability(problem, properties[p : p + 1], REFERENCES[reference], Cells(64))
        assert alone.item() == pytest.approx(together[p].item(), rel=1e-6, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("projections", PROJECTIONS)
@pytest.mark.parametrize("name", ["weight", "bias", "weight_scale", "bias_scale", "weight_error"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_law_with_nan_claims_nothing(depth: int, name: str, projections: str) -> None:
    problem = make_federated(depth, (3, *[4] * (depth - 1), 2), 1e-9, 1e-6)
    shared = federation(problem)
    properties = problem.properties(100 - problem.attacked(problem.deployed(1)))
    assert probability(shared, properties).item() < 1e-2
    for place, reference in itertools.product(range(depth), REFERENCES.values()):
        deployed, *clients = (
            [
                replace(layer, **{name: nans(getattr(layer, name))}) if i == place else layer
                for i, layer in own
            ]
            for own in map(enumerate, (shared.deployed, *shared.clients))
        )
        found = probability(Federation(deployed, clients), properties, reference, PROJECTIONS[projections])
        assert found.item() == 1.0


def nans(like: Tensor) -> Tensor:
    return torch.full_like(like, math.nan)


@pytest.mark.parametrize("projections", PROJECTIONS)
@pytest.mark.parametrize("name", ["weight_scale", "bias_scale"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_client_with_an_unknown_scale_claims_nothing(bad: float, name: str, projections: str) -> None:
    problem = make_federated(1, (3, 4, 2), 1e-9, 1e-6)
    shared = federation(problem)
    properties = problem.properties(100 - problem.attacked(problem.deployed(1)))
    for place, layer in enumerate(shared.clients[0]):
        own = [*shared.clients[0]]
        own[place] = replace(layer, **{name: torch.full_like(getattr(layer, name), bad)})
        spoiled = Federation(shared.deployed, [own, *shared.clients[1:]])
        assert probability(spoiled, properties, Conditional(), PROJECTIONS[projections]).item() == 1.0


def test_constraints_of_zeros_are_decided_by_their_offsets() -> None:
    problem = make_federated(7, (3, 6, 2), 0.001)
    nothing = replace(problem, C=torch.zeros_like(problem.C))
    for d, least, most in [(1.0, 0.0, 0.01), (0.0, 0.0, 0.01), (-1.0, 1.0, 1.0)]:
        found = probability(nothing, nothing.properties(torch.tensor([[d]]).double())).item()
        assert least <= found <= most


# A sum of layers' noises, each Gaussian given those before, with deviations that an adversary chooses.

SAMPLES = 40_000
STEPS = 150


def until_reached(value: Tensor, left: Tensor, step: int, level: float) -> Tensor:
    """Equal shares of the variance until the level is reached, none from there."""
    return torch.where(value <= -level, 0.0, 1 / STEPS).minimum(left)


def bang_bang(value: Tensor, left: Tensor, step: int, level: float) -> Tensor:
    """Half the variance in two jumps; then all of it for those that are above the level."""
    share = torch.full_like(left, 0.25) if step < 2 else left
    return torch.where(value <= -level, 0.0, share).minimum(left)


def away_from_the_level(value: Tensor, left: Tensor, step: int, level: float) -> Tensor:
    """The larger the distance from the level, the more variance."""
    return (0.02 * (value + level).clamp(min=0.0)).minimum(left)


def at_random(value: Tensor, left: Tensor, step: int, level: float) -> Tensor:
    """A random part of what is left, none for half of those that are low."""
    generator = stream(step, "strategy")
    lazy = (value < 0) & (uniform(generator, len(value)) < 0.5)
    return torch.where(lazy, 0.0, uniform(generator, len(value)) * left)


def all_at_once(value: Tensor, left: Tensor, step: int, level: float) -> Tensor:
    """A Gaussian."""
    return left


STRATEGIES = [until_reached, bang_bang, away_from_the_level, at_random, all_at_once]


def reached(strategy, level: float, steps: int = STEPS) -> tuple[float, float]:
    """An interval of the probability that a martingale of total variance at most one ends at −level."""
    generator = stream(0, strategy.__name__)
    value, left = torch.zeros(SAMPLES).double(), torch.ones(SAMPLES).double()
    for step in range(steps):
        variance = strategy(value, left, step, level)
        assert (variance <= left).all()
        value = value + variance.sqrt() * normal(generator, SAMPLES)
        left = (left - variance).clamp(min=0.0)
    return clopper_pearson(int((value <= -level).sum()), SAMPLES, 1 - 1e-6)


@pytest.mark.parametrize("level", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.__name__)
def test_no_choice_of_the_deviations_makes_the_tail_more_than_twice_the_gaussian_one(strategy, level) -> None:
    low, _ = reached(strategy, level)
    assert low <= Conditional().factor * norm.sf(level)


@pytest.mark.parametrize("level", [1.0, 2.0])
def test_some_choice_makes_the_tail_nearly_twice_the_gaussian_one(level: float) -> None:
    low, _ = reached(until_reached, level)
    assert low > 1.5 * norm.sf(level)


def test_three_layers_are_enough_for_a_tail_above_the_gaussian_one() -> None:
    low, _ = reached(bang_bang, 1.0, steps=3)
    assert low > 1.05 * norm.sf(1.0)


def test_independent_noises_need_no_factor() -> None:
    low, high = reached(all_at_once, 1.0, steps=1)
    assert low <= norm.sf(1.0) <= high
    assert Static().factor == 1.0


@pytest.mark.slow
def test_references_are_tried_in_every_combination_with_projections() -> None:
    """Every combination is sound, so the least bound of all is: that is what certificates use."""
    problem = make_federated(11, (2, 6, 6, 2), 0.005, 0.005, clients=3)
    first, fresh = (problem.attacked(problem.deployed(2000)) for _ in range(2))
    d = -first.quantile(0.05, dim=0).unsqueeze(0)
    low, _ = clopper_pearson(int((fresh + d < 0).any(-1).sum()), len(fresh), SURE)
    found = [
        probability(problem, problem.properties(d), reference, projections).item()
        for reference, projections in itertools.product(REFERENCES.values(), PROJECTIONS.values())
    ]
    assert low <= min(found) < 0.6


@pytest.mark.parametrize(("reference", "factor"), [(Conditional(), 2), (Static(), 1)])
def test_every_event_is_paid(reference: Reference, factor: int) -> None:
    """Three sides of a neuron, three rows of movement, a deviation a client; and those of the constraints."""
    federation, ranges, failure = (
        make_federated(3, (2, 3, 4, 2), 0.5, 0.1, clients=2, constraints=3),
        1e-7,
        1e-9,
    )
    deployed = federation.rule.pushforward(federation.laws)
    layers = client_layers(federation.laws, federation.rule, federation.network, deployed)
    ones = torch.ones(1, dtype=torch.float64)
    properties = federation.properties(federation.offsets(1.0))
    kappa = -torch.special.ndtri(ranges * ones)
    found = chained_violation(layers, properties, kappa, failure * ones, reference)
    event = concentration(concentration_width(failure * ones)).upper.item()
    due = 3 * (3 * ranges + 3 * event)
    due += 4 * (3 * factor * ranges + (3 * 4 + 2 * 2) * event)
    due += 3 * (7 + 2 * 2) * event
    assert found.events.item() == pytest.approx(due, rel=1e-6)
