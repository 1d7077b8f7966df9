"""Verdicts on drawn networks, compared with exact arithmetic; each charge is needed."""

import pytest
import torch
from confidence_cases import random_problem
from oracles import forward
from problems import normal, uniform, vector

from fedcert.confidence import backward, cascade, chain
from fedcert.confidence import forward as intervals
from fedcert.confidence.boxes import judge_boxes
from fedcert.confidence.cascade import Asked, breaks, judge
from fedcert.confidence.chain import chain_of
from fedcert.confidence.deployed import Drawn
from fedcert.confidence.forward import Region
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream


def networks(seed: int, network: Network, count: int, radius: float) -> Drawn:
    tensors = sum(len(layer.shapes) for layer in network.layers)
    return Drawn(
        normal(stream(seed, "networks"), count, network.parameters),
        torch.full((tensors,), radius, dtype=torch.float64),
    )


def hard(seed: int, network: Network, drawn: Drawn, width: float) -> Properties:
    """Properties of which some hold for some networks, some by little."""
    generator = stream(seed, "hard")
    x = normal(generator, 6, network.inputs)
    C = normal(generator, 6, 2, network.outputs)
    d = 0.5 - (C @ network(drawn.centre[0], x).unsqueeze(-1)).squeeze(-1)
    return Properties(Box.around(x, width * uniform(generator, *x.shape)), C, d)


@pytest.mark.parametrize("radius", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("layers", [(3, 2), (3, 5, 2), (3, 5, 4, 2), (2, 4, 4, 4, 2)])
def test_proven_networks_are_safe_and_broken_ones_are_not(layers: tuple[int, ...], radius: float) -> None:
    network = mlp(*layers)
    drawn = networks(1, network, 20, radius)
    properties = hard(2, network, drawn, 0.2)
    found = judge(chain_of(network, drawn), Asked.of(properties))
    generator = stream(3, "samples")
    low, high = properties.regions.lower, properties.regions.upper
    safe = torch.ones_like(found.proven)
    for _ in range(200):
        theta = drawn.centre + radius * (2 * uniform(generator, *drawn.centre.shape) - 1)
        x = low + (high - low) * uniform(generator, *low.shape).round(decimals=1)
        margins = torch.einsum("prk,bpk->bpr", properties.C, network(theta, x)) + properties.d
        safe &= (margins >= -1e-12).all(-1)
    assert not (found.proven & ~safe).any()
    assert not (found.proven & found.broken).any()
    assert found.proven.any()
    assert found.broken.any()
    assert (found.proven | found.broken).double().mean() > (0.3 if radius > 1e-3 else 0.6)


@pytest.mark.parametrize(
    "layers",
    [
        (Linear(2, 3), Linear(3, 3), ReLU(), Linear(3, 1)),
        (ReLU(), Linear(2, 1)),
        (Linear(2, 3), ReLU(), Linear(3, 2), ReLU()),
    ],
)
def test_layers_may_come_in_any_order(layers: tuple) -> None:
    network = Network(layers)
    drawn = networks(4, network, 30, 1e-9)
    found = judge(chain_of(network, drawn), Asked.of(hard(5, network, drawn, 0.01)))
    other = judge_boxes(network, drawn, hard(5, network, drawn, 0.01))
    assert not (found.proven & other.broken).any()
    assert not (found.broken & other.proven).any()
    assert (found.proven | found.broken).double().mean() > 0.9
    assert (other.proven & ~found.proven).double().mean() < 0.02


def test_tightened_bounds_prove_more_than_intervals() -> None:
    network = mlp(4, 16, 16, 2)
    drawn = networks(6, network, 20, 1e-9)
    asked = Asked.of(hard(7, network, drawn, 0.3))
    own = chain_of(network, drawn)
    bounds = intervals.input_bounds(own[:-1], asked.region)
    by_intervals = cascade._by_last_layer(own, bounds, asked).sum()
    by_lines = cascade._carried_back(own, bounds, asked).proven.sum()
    assert by_intervals < by_lines < judge(own, asked).proven.sum()


def test_what_is_not_finite_proves_and_breaks_nothing() -> None:
    network = mlp(2, 3, 1)
    drawn = Drawn(torch.full((1, network.parameters), 1e300, dtype=torch.float64), torch.zeros(4).double())
    one = torch.ones(1, 2, dtype=torch.float64)
    for sign in (1.0, -1.0):
        properties = Properties(
            Box(-one, one), sign * torch.ones(1, 1, 1).double(), torch.zeros(1, 1).double()
        )
        found = judge(chain_of(network, drawn), Asked.of(properties))
        assert not found.proven.any()
        assert not found.broken.any()


def at_the_edge(weights: list[float], x: list[float], radius: float = 0.0) -> tuple[Network, Drawn, Asked]:
    """Σ w x ≥ s, where s is the sum as floating point finds it."""
    network = mlp(len(x), 1)
    drawn = Drawn(vector(*weights, 0.0)[None], torch.full((2,), radius, dtype=torch.float64))
    point = Box.point(vector(*x)[None])
    value = network(drawn.centre, point.lower)[0]
    return network, drawn, Asked.of(Properties(point, torch.ones(1, 1, 1).double(), -value))


def exactly_negative(weights: list[float], x: list[float]) -> bool:
    network, drawn, asked = at_the_edge(weights, x)
    return forward(network, drawn.centre[0], asked.low[0, 0])[0] + float(asked.d) < 0


def rounded_up() -> tuple[list[float], list[float]]:
    """Weights and inputs whose sum floating point finds too large."""
    generator = stream(8, "edge")
    while True:
        weights, x = normal(generator, 5).tolist(), uniform(generator, 5).tolist()
        if exactly_negative(weights, x):
            return weights, x


@pytest.mark.parametrize("charged", [True, False])
def test_the_roundings_of_products_are_charged(charged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum is rounded up, so that the constraint fails exactly: without the charge it would be proven."""
    if not charged:
        for module in (chain, backward, cascade):
            monkeypatch.setattr(module, "rounding_of", lambda length, layers: 0.0, raising=False)
        monkeypatch.setattr(chain, "SPARE", 0)
        monkeypatch.setattr(chain, "FLOOR", 0.0)
        monkeypatch.setattr(intervals, "ROUNDED", 0.0)
    network, drawn, asked = at_the_edge(*rounded_up())
    found = judge(chain_of(network, drawn), asked)
    assert found.proven.item() != charged


def test_the_radius_of_the_weights_is_charged() -> None:
    network = mlp(2, 1)
    x = Box.point(vector(1.0, 1.0)[None])
    for radius, proven in ((0.1, True), (0.2, False)):
        drawn = Drawn(vector(1.0, 1.0, 0.0)[None], torch.full((2,), radius, dtype=torch.float64))
        asked = Asked.of(Properties(x, torch.ones(1, 1, 1).double(), torch.tensor([[-1.6]]).double()))
        assert judge(chain_of(network, drawn), asked).proven.item() == proven


def test_an_input_breaks_only_if_it_does_so_for_all_parameters_within_the_radius() -> None:
    network = mlp(1, 1)
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    properties = Properties(Box.point(one[0]), one, torch.tensor([[-1.1]]).double())
    for radius, broken in ((0.04, True), (0.06, False)):
        drawn = Drawn(vector(1.0, 0.0)[None], torch.full((2,), radius, dtype=torch.float64))
        assert breaks(chain_of(network, drawn), one, Asked.of(properties)).item() == broken


def test_lines_lie_around_the_rectifier() -> None:
    low = vector(-1.0, -1.0, -1.0, 0.5, -2.0, -1e-300, -1e300)[None, None]
    high = vector(2.0, 0.5, 1.0, 1.0, -0.5, 1e-310, 1e300)[None, None]
    lines = backward.Lines.around(Region.between(low, high))
    for share in torch.linspace(0, 1, 101, dtype=torch.float64):
        y = low + share * (high - low)
        above = lines.slope * y + lines.height
        assert ((above - y.clamp(min=0.0)) >= -1e-16 * y.abs()).all()
        assert (lines.below * y <= y.clamp(min=0.0)).all()
        assert (lines.slope * y <= y.clamp(min=0.0) + 1e-16 * y.abs()).all()


def test_networks_of_other_layers_are_judged_by_the_verifiers_of_boxes() -> None:
    problem = random_problem(3)
    drawn = networks(9, problem.network, 40, 1e-9)
    asked = hard(10, problem.network, drawn, 0.02)
    boxes = judge_boxes(problem.network, drawn, asked)
    own = judge(chain_of(problem.network, drawn), Asked.of(asked))
    assert boxes.proven.any()
    assert boxes.broken.any()
    assert not (boxes.proven & own.broken).any()
    assert not (boxes.broken & own.proven).any()
