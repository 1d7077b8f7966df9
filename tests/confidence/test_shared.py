"""Bounds of layers that drawn networks share are computed once, and forgotten where networks differ."""

import pytest
import torch
from confidence_cases import image_problem, last_layer_image_problem, random_problem
from torch import Tensor

from fedcert.confidence import bound, bounding, shared
from fedcert.confidence.backward import tightened_bounds
from fedcert.confidence.cascade import Asked, judge
from fedcert.confidence.chain import Chain, chain_of
from fedcert.confidence.deployed import Drawn, tensor_sizes
from fedcert.confidence.shared import SharedBounds
from fedcert.families.problem import Problem
from fedcert.model.layers import Linear


def chain(problem: Problem, theta: Tensor) -> Chain:
    radius = torch.full((len(tensor_sizes(problem.network)),), 1e-9, dtype=torch.float64)
    return chain_of(problem.network, Drawn(theta, radius))


def last_layer_moved(problem: Problem, networks: int) -> Tensor:
    """Networks that differ in their last layer alone."""
    theta = problem.laws[0].loc.repeat(networks, 1)
    last = problem.network.layers[-1]
    assert isinstance(last, Linear)
    theta[:, -last.outputs :] += torch.arange(networks).double()[:, None]
    return theta


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many layers were bounded, call by call."""
    calls: list[int] = []

    def counting(chain: Chain, x: shared.Region, known: list[shared.Region] | tuple[()] = ()) -> list:
        found = tightened_bounds(chain, x, known)
        calls.append(len(found) - max(1, len(known)))
        return found

    monkeypatch.setattr(shared, "tightened_bounds", counting)
    return calls


def test_shared_layers_are_bounded_once_for_each_property(counted: list[int]) -> None:
    problem = image_problem(0)
    own, asked = SharedBounds(), Asked.of(problem.properties)
    networks = chain(problem, last_layer_moved(problem, 3))
    own.meet(networks)
    places, layers = torch.tensor([1, 1, 3]), len(problem.network.layers)
    x = asked.each(places).region
    found = own.tightened(networks, places, x)
    assert counted == [layers - 1, layers - 1, 0]
    for one, other in zip(found, tightened_bounds(networks, x), strict=True):
        assert torch.allclose(one.centre, other.centre, rtol=0, atol=1e-12)
        assert torch.allclose(one.radius, other.radius, rtol=0, atol=1e-12)
    own.meet(networks)
    own.tightened(networks, places, x)
    assert counted[3:] == [0]


def test_what_depends_on_other_layers_is_forgotten(counted: list[int]) -> None:
    """Each layer in turn is another one: only what lies before it is kept."""
    problem = random_problem(0)
    asked, theta = Asked.of(problem.properties), problem.laws[0].loc.unsqueeze(0)
    places, layers = torch.tensor([0]), len(problem.network.layers)
    region, starts = asked.each(places).region, [0, 24, 59]
    for place, start in zip((0, 2, 4), starts, strict=True):
        own, other = SharedBounds(), theta.clone()
        other[:, start] += 1.0
        first, second = chain(problem, theta), chain(problem, other)
        own.meet(first)
        own.tightened(first, places, region)
        own.meet(second)
        counted.clear()
        found = own.tightened(second, places, region)
        assert counted == [layers - 1 - place]
        for one, alone in zip(found, tightened_bounds(second, region), strict=True):
            assert torch.equal(one.centre, alone.centre)
            assert torch.equal(one.radius, alone.radius)


def test_verdicts_do_not_depend_on_what_was_judged_before() -> None:
    problem, own = image_problem(1), SharedBounds()
    asked = Asked.of(problem.properties)
    for seed in range(4):
        theta = image_problem(seed % 2).laws[seed % 3].loc.unsqueeze(0)
        networks = chain(problem, theta)
        found, alone = judge(networks, asked, shared=own), judge(networks, asked)
        assert torch.equal(found.proven, alone.proven)
        assert torch.equal(found.broken, alone.broken)


@pytest.mark.slow
def test_batches_change_nothing_for_fixed_features(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = last_layer_image_problem(1, "fedavg", "full")
    whole = bound(problem, 20)
    monkeypatch.setitem(bounding.BATCH_ELEMENTS, "cpu", 1)
    parts = bound(problem, 20)
    assert torch.equal(parts.proven, whole.proven)
    assert torch.equal(parts.broken, whole.broken)
