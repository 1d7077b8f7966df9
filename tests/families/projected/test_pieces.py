"""Regions cut into pieces: they cover the region, their bounds add up, and cutting pays where it should."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform, vector
from scipy.special import ndtr

from fedcert.families.problem import Problem
from fedcert.families.projected.bound import violation
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.pieces import MOST_MOVING, Grid, cut_regions, edges
from fedcert.families.projected.split import STARTS, uniform_split
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule

SUM = mlp(2, 2, 1)  # |x_1 − x_2| and the like: a region of two moving inputs


def kink(scale: float = 0.05) -> DiagonalGaussian:
    """relu(x_1) + relu(−x_1) + noise: least in the middle of a region around 0, large at both ends."""
    loc = vector(1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
    return DiagonalGaussian(loc, torch.full_like(loc, scale))


def asked(radius: float, d: float) -> Properties:
    region = Box(vector(-radius, -radius).unsqueeze(0), vector(radius, radius).unsqueeze(0))
    return Properties(region, torch.ones(1, 1, 1).double(), vector(d).unsqueeze(0))


finite = st.floats(-1e6, 1e6, allow_nan=False, width=64)


@given(ends=st.tuples(finite, finite), parts=st.integers(1, 64))
def test_the_parts_of_an_interval_leave_nothing_out(ends: tuple[float, float], parts: int) -> None:
    low, high = sorted(ends)
    found = edges(low, high, parts)
    assert (found[0], found[-1], len(found)) == (low, high, parts + 1)
    assert found == sorted(found)


@given(seed=st.integers(0, 2**32))
def test_every_point_of_a_region_lies_in_one_of_its_pieces(seed: int) -> None:
    generator = stream(seed, "pieces")
    region = Box.around(normal(generator, 2, 3), uniform(generator, 2, 3))
    properties = Properties(region, normal(generator, 2, 1, 2), normal(generator, 2, 1))
    counts = torch.randint(1, 4, (2, 3), generator=generator, dtype=torch.int32)
    grid = Grid.of(properties, counts)
    assert grid.owner.bincount().tolist() == counts.prod(-1).tolist()
    assert torch.equal(grid.pieces.d, properties.d[grid.owner])
    x = region.lower + (region.upper - region.lower) * uniform(generator, 100, 2, 3).clamp(0, 1)
    x = x.clamp(region.lower, region.upper)
    for p in range(2):
        own = grid.pieces.regions[grid.owner == p]
        inside = (own.lower <= x[:, p, None]) & (x[:, p, None] <= own.upper)
        assert inside.all(-1).any(-1).all()


def test_bounds_of_pieces_add_up_from_above() -> None:
    properties = asked(1.0, 0.0)
    grid = Grid.of(properties, torch.tensor([[3, 2]], dtype=torch.int32))
    assert grid.total(torch.full((6,), 0.1).double()).item() >= 0.6
    assert grid.total(torch.full((6,), 0.5).double()).item() == 1.0


def test_cutting_finds_what_the_whole_region_hides() -> None:
    """|x_1| + noise + d ≥ 0 near 0: over the whole region both neurons switch, on a piece hardly any does."""
    problem = Problem(SUM, asked(0.5, 0.5), (kink(),), LinearRule.fedavg([1]))
    layers = random_layers(SUM, problem.deployed)
    split = uniform_split(layers, problem.properties, STARTS[0])
    whole = violation(layers, problem.properties, split).probability
    cut = cut_regions(layers, problem.properties, split, whole)
    assert cut.counts[0, 0] > 1
    assert cut.bound.item() < 1e-3 < 0.9 < whole.item()
    found = certify_projected_directly(problem)
    assert found.lower.item() > 0.999
    at_zero = ndtr(0.5 / 0.05)  # at x = 0 the bias alone decides, and it is a part of the noise
    assert found.lower.item() <= at_zero


def test_samples_violate_no_more_often_than_the_pieces_say() -> None:
    problem = Problem(SUM, asked(0.2, 0.25), (kink(),), LinearRule.fedavg([1]))
    found = certify_projected_directly(problem)
    generator = stream(0, "pieces survive")
    theta = problem.deployed.sample(4000, generator)
    x = torch.cartesian_prod(torch.linspace(-0.2, 0.2, 41), torch.linspace(-0.2, 0.2, 5)).double()
    safe = torch.stack([(SUM(own, x) + 0.25 >= 0).all() for own in theta]).double().mean().item()
    assert found.lower.item() <= safe + 0.03
    assert found.lower.item() > 0.5


@pytest.mark.parametrize("moving", [0, MOST_MOVING + 1])
def test_regions_of_no_or_of_many_moving_inputs_stay_whole(moving: int) -> None:
    network = mlp(MOST_MOVING + 1, 2, 1)
    generator = stream(1, "many")
    law = DiagonalGaussian(
        normal(generator, network.parameters), torch.full((network.parameters,), 0.3).double()
    )
    radius = torch.zeros(1, MOST_MOVING + 1).double()
    radius[:, :moving] = 0.5
    properties = Properties(
        Box.around(torch.zeros_like(radius), radius), torch.ones(1, 1, 1).double(), vector(1.0).unsqueeze(0)
    )
    layers = random_layers(network, law)
    split = uniform_split(layers, properties, STARTS[0])
    whole = violation(layers, properties, split).probability
    cut = cut_regions(layers, properties, split, whole)
    assert torch.equal(cut.bound, whole)
    assert (cut.counts == 1).all()
