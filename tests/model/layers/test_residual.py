"""Residual additions, against torch's own modules; the contract of layers is checked in test_protocol.py."""

import pytest
import torch
from oracles import random_points
from problems import normal
from torch import nn
from torch.func import functional_call

import fedcert
from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers import Conv2d, Linear, ReLU, ResidualSum
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.model.torch_module.read import Reading, read_module
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.interval import IntervalVerifier
from fedcert.verify.linear import LinearVerifier
from fedcert.verify.points import accepts

SHAPE = (1, 4, 4)


def convolutional() -> nn.Module:
    """Two blocks, one of them with a stride and a convolution of 1 × 1 pixels beside it."""
    body = nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.ReLU(), nn.Conv2d(2, 2, 3, padding=1))
    strided = nn.Sequential(nn.Conv2d(2, 3, 3, 2, 1), nn.ReLU(), nn.Conv2d(3, 3, 3, padding=1))
    blocks = [fedcert.Residual(body), nn.ReLU(), fedcert.Residual(strided, nn.Conv2d(2, 3, 1, 2)), nn.ReLU()]
    return nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), *blocks, nn.Flatten(), nn.Linear(12, 2))


def read() -> tuple[nn.Module, Reading]:
    torch.manual_seed(0)
    module = convolutional().double()
    return module, read_module(module, SHAPE)


def outputs(module: nn.Module, reading: Reading, theta: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """What torch computes with these parameters."""
    sizes = [module.get_parameter(name).shape for name in reading.parameters]
    pieces = theta.split([size.numel() for size in sizes])
    values = {name: own.view(size) for name, own, size in zip(reading.parameters, pieces, sizes, strict=True)}
    return functional_call(module, values, (x.unflatten(-1, SHAPE),)).detach()


@pytest.mark.slow
def test_torch_stays_within_the_bounds_of_both_verifiers() -> None:
    module, reading = read()
    generator, network = stream(0, "residual"), reading.network
    boxes = Box.around(reading.theta.unsqueeze(0), 0.01)
    regions = Box.around(normal(generator, 2, network.inputs), 0.05)
    unit = torch.cat([torch.eye(2), -torch.eye(2)]).double().expand(2, -1, -1)
    asked = Properties(regions, unit, torch.zeros(2, 4).double())
    for verifier in (IntervalVerifier(), LinearVerifier()):
        margins = verifier.margins(network, boxes, asked)[0]
        for p in range(2):
            xs = random_points(regions[p], 20, generator)
            for theta, x in zip(random_points(boxes[0], 20, generator), xs, strict=True):
                y = outputs(module, reading, theta, x.unsqueeze(0))[0]
                assert (margins[p] <= torch.cat([y, -y])).all()


def test_lines_keep_that_body_and_shortcut_see_the_same_input() -> None:
    """f(x) = x − x is 0 for linear bounds, whatever x is; for intervals it is anything."""
    network = Network((ResidualSum((Linear(1, 1),)),))
    theta = torch.tensor([[-1.0, 0.0]]).double()
    region = Box(torch.full((1, 1), -1.0).double(), torch.ones(1, 1).double())
    asked = Properties(region, torch.ones(1, 1, 1).double(), torch.zeros(1, 1).double())
    assert IntervalVerifier().margins(network, Box.point(theta), asked).item() <= -2
    assert -1e-9 < LinearVerifier().margins(network, Box.point(theta), asked).item() <= 0


def test_bounds_inside_a_block_are_those_of_the_whole_network() -> None:
    """(x, −x) through a block whose ReLU sees their sum, 0: only bounds from the input know that it is."""
    network = Network((Linear(1, 2), ReLU(), Linear(2, 2), ResidualSum((Linear(2, 1), ReLU(), Linear(1, 2)))))
    theta = torch.tensor([1, 1, 2.0, 2.0, 1, 0, 0, -1, 0, 0, 1, 1, 0, 1, 1, 0, 0]).double().unsqueeze(0)
    region = Box(torch.full((1, 1), -1.0).double(), torch.ones(1, 1).double())
    rows = torch.tensor([[[-1.0, -1.0]]]).double()
    margin = LinearVerifier().margins(
        network, Box.point(theta), Properties(region, rows, torch.zeros(1, 1).double())
    )
    assert -1e-9 < margin.item() <= 0


@pytest.mark.slow
def test_attacks_and_estimates_go_through_it() -> None:
    module, reading = read()
    generator = stream(1, "residual")
    x = normal(generator, 4, reading.network.inputs)
    label = outputs(module, reading, reading.theta, x).argmax(-1)
    asked = fedcert.linf_robustness(x, label, 1e-4, classes=2, domain=(-9.0, 9.0))
    theta = reading.theta.unsqueeze(0)
    assert accepts(reading.network, theta, asked).float().mean() > 0.5
    assert ProjectedGradient().survives(reading.network, theta, asked).float().mean() > 0.5
    wrong = fedcert.linf_robustness(x, 1 - label, 1e-4, classes=2, domain=(-9.0, 9.0))
    assert not ProjectedGradient().survives(reading.network, theta, wrong).any()


@pytest.mark.parametrize(
    ("chains", "error", "words"),
    [
        (((), ()), ShapeMismatch, "a body with a layer such as Linear"),
        (((ReLU(),), ()), ShapeMismatch, "a body with a layer such as Linear"),
        (((Linear(2, 3),), ()), ShapeMismatch, r"outputs of shape \(3,\) and a shortcut with \(2,\)"),
        (((Linear(2, 3),), (Linear(2, 2),)), ShapeMismatch, "and a shortcut with"),
        (((Linear(2, 2),), (Linear(3, 2),)), ShapeMismatch, "widths differ"),
        (((Linear(2, 4), Linear(3, 2)), ()), ShapeMismatch, "widths differ"),
        (((Conv2d((1, 2, 2), 1, (2, 2)),), ()), ShapeMismatch, "and a shortcut with"),
        (((ResidualSum((Linear(2, 2),)),), ()), UnsupportedLayer, "inside of another"),
    ],
)
def test_what_cannot_be_added_is_refused(chains: tuple, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ResidualSum(*chains)
