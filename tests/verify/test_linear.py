"""What is particular to linear bounds; the soundness tests they share are in test_interval.py."""

import pytest
import torch
from oracles import exact, forward, random_points
from problems import make_problem

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.interval import MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier


def test_linear_bounds_are_tighter_where_only_the_input_varies() -> None:
    problem = make_problem(3, (6, 12, 12, 3), boxes=8, properties=8, weight_radius=0.0, input_radius=0.1)
    merged, linear = (
        verifier.margins(problem.network, problem.boxes, problem.properties)
        for verifier in (MergedIntervalVerifier(), LinearVerifier())
    )
    assert (linear > merged).double().mean() > 0.95


def test_linear_bounds_refuse_a_network_that_ends_in_relu() -> None:
    problem = make_problem(0, (2, 3), properties=1)
    with pytest.raises(UnsupportedLayer, match="Linear layer at the end"):
        LinearVerifier()(Network((Linear(2, 3), ReLU())), problem.boxes, problem.properties)


def test_additive_noise_on_pre_activations_is_a_box_of_biases() -> None:
    generator = stream(4, "additive noise")
    network = mlp(3, 8, 8, 2)
    theta = network.initialise(generator).double()
    noise = torch.cat([
        torch.cat([torch.zeros(layer.outputs * layer.inputs), torch.full((layer.outputs,), 0.05)])
        for layer in network.layers
        if isinstance(layer, Linear)
    ]).double()
    region = Box.around(torch.rand(1, 3, generator=generator).double(), 0.02)
    properties = Properties(region, torch.eye(2).double().unsqueeze(0), torch.zeros(1, 2).double())
    box = Box(theta.unsqueeze(0) - noise, theta.unsqueeze(0) + noise)
    margins = LinearVerifier().margins(network, box, properties)[0, 0]
    for x in random_points(region[0], 300, generator):
        h = x
        for layer, parameters in zip(network.layers, network.unflatten(theta), strict=True):
            h = layer(parameters, h.unsqueeze(0))[0]
            if isinstance(layer, Linear):
                h = h + 0.05 * (2 * torch.rand(len(h), generator=generator).double() - 1)
        assert (h >= margins).all()


@pytest.mark.parametrize("step", range(20))
def test_a_line_whose_slope_underflows_stays_below_the_relu(step: int) -> None:
    """A coefficient of 60 times the least float, rounded, multiplies a pre-activation of −1e300."""
    network, c = mlp(1, 2, 1), 1e-20
    theta = torch.tensor([1e300, 1.0, 0.0, 2.0, -(1 + 0.01 * step) * 1e-308, c, 0.0], dtype=torch.float64)
    x = torch.tensor([-1.0], dtype=torch.float64)
    region = Box(x.unsqueeze(0), torch.full((1, 1), 1e-200, dtype=torch.float64))
    properties = Properties(region, torch.ones(1, 1, 1).double(), torch.full((1, 1), -c).double())
    margin = LinearVerifier().margins(network, Box.point(theta.unsqueeze(0)), properties)
    assert exact(margin) <= forward(network, theta, x)[0] - exact(c)


def test_no_boxes_are_no_verdicts() -> None:
    problem = make_problem(0, (2, 3, 2), properties=2)
    assert LinearVerifier()(problem.network, problem.boxes[:0], problem.properties).shape == (0, 2)
