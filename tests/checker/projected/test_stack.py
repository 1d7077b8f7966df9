"""Fixed features in balls, and which layers come behind them."""

import numpy as np
import pytest
from convolved_problems import FEATURES, NETWORKS, make_convolved
from flint import arb
from problems import uniform
from saved_certificates import as_network

from fedcert.errors import InvalidCertificate
from fedcert.families.projected.features import of_features
from fedcert.families.projected.layers import first_random, rectified
from fedcert.randomness import stream
from fedcert_check.balls import exact, lower, upper
from fedcert_check.layers import Linear, Network, ReLU, Tanh
from fedcert_check.projected.affine_part import affine_layers
from fedcert_check.projected.affine_part import first_random as checked_first
from fedcert_check.projected.exact import Region
from fedcert_check.projected.laws import independent
from fedcert_check.projected.layers import Unproven
from fedcert_check.projected.stack import stacked

EVERY = {**NETWORKS, **FEATURES}


@pytest.mark.parametrize("name", EVERY)
def test_both_programs_divide_a_network_in_the_same_way(name: str) -> None:
    own = as_network(EVERY[name])
    numbers = exact(np.zeros(own.dimension))
    assert checked_first(own) == first_random(EVERY[name])
    found = stacked(own, independent(numbers, numbers))
    assert list(found.rectified) == rectified(EVERY[name])
    assert [layer.outputs for layer in found.layers] == [layer.outputs for layer in affine_layers(own)]


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_the_box_holds_the_outputs_and_lies_in_that_of_the_fast_path(name: str, radius: float) -> None:
    problem = make_convolved(name, 0, 0.1, radius, clients=1)
    loc = problem.laws[0].loc
    own = as_network(problem.network)
    numbers = independent(exact(loc.numpy()), exact(np.zeros(own.dimension)))
    regions, start = problem.properties.regions, checked_first(own)
    region = Region.of(regions.lower[0].numpy(), regions.upper[0].numpy(), np.zeros((1, 2)), np.zeros(1))
    found = stacked(own, numbers).region(region)
    low, high = lower(found.centre - found.radius), upper(found.centre + found.radius)
    theirs = of_features(problem.network, problem.deployed, problem.properties).regions
    x = regions.lower + (regions.upper - regions.lower) * uniform(stream(0, name), 50, problem.network.inputs)
    parameters = problem.network.unflatten(loc)
    for layer, each in zip(problem.network.layers[:start], parameters, strict=False):
        x = layer(each, x)
    for place, (a, b) in enumerate(zip(low, high, strict=True)):
        assert theirs.lower[0, place].item() <= float(a) + 1e-14
        assert float(b) - 1e-14 <= theirs.upper[0, place].item()
        assert all(float(a) - 1e-12 <= value <= float(b) + 1e-12 for value in x[:, place].tolist())


def test_random_features_are_refused() -> None:
    network = Network((Linear(1, 1), Tanh(), Linear(1, 1)))
    ones = exact(np.ones(4))
    with pytest.raises(InvalidCertificate, match="fixed layers"):
        stacked(network, independent(ones, ones))
    fixed = ones.copy()
    fixed[:2] = 0 * fixed[:2]
    assert not stacked(network, independent(ones, fixed)).dependent


def test_layers_without_a_relu_have_no_exact_first_law() -> None:
    ones = exact(np.ones(4))
    assert stacked(Network((Linear(1, 1), Linear(1, 1))), independent(ones, ones)).dependent
    assert not stacked(Network((Linear(1, 1), ReLU(), Linear(1, 1))), independent(ones, ones)).dependent


def test_features_without_a_bound_prove_nothing() -> None:
    network, ones = Network((Linear(1, 1), Tanh(), Linear(1, 1))), exact(np.ones(4))
    fixed = exact(np.array([0.0, 0.0, 1.0, 1.0]))
    nowhere = Region(np.array([arb("nan")]), exact(np.zeros(1)), exact(np.ones((1, 1))), exact(np.zeros(1)))
    with pytest.raises(Unproven):
        stacked(network, independent(ones, fixed)).region(nowhere)
