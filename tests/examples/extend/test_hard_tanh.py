"""A layer from outside the package keeps the contract of layers, and verifiers and files take it."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from flint import arb
from fuzz.balls import EXACT, balls, below, dot, precision
from layer_contract import check_layer
from oracles import random_points
from problems import normal, uniform
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from fedcert.errors import UnsupportedLayer
from fedcert.model.from_torch import from_torch
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.interval import Bounds
from fedcert.randomness import stream
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier
from fedcert.verify.points import accepts

PATH = Path(__file__).parents[3] / "examples" / "extend" / "hard_tanh.py"
VERIFIERS = [IntervalVerifier(), MergedIntervalVerifier(), LinearVerifier()]


@pytest.fixture
def example(forget_layers: None, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example, registered for one test."""
    spec = importlib.util.spec_from_file_location("hard_tanh", PATH)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "hard_tanh", module)
    spec.loader.exec_module(module)
    return module


def clamp(a: arb) -> arb:
    return arb(-1) if a < -1 else arb(1) if a > 1 else a


def exact_hard_tanh(parameters: list, x: list[arb]) -> list[arb]:
    return [clamp(a) for a in x]


def exact_forward(network: Network, theta: Tensor, x: Tensor) -> list[arb]:
    h = balls(x)
    for layer, parameters in zip(network.layers, network.unflatten(theta), strict=True):
        if parameters:
            weight, bias = (balls(own) for own in parameters)
            h = [dot(row, h) + b for row, b in zip(weight, bias, strict=True)]
        else:
            h = [clamp(a) if layer.name == "hard-tanh" else max(a, arb(0)) for a in h]
    return h


def test_the_example_is_short() -> None:
    assert len(PATH.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_layer_keeps_the_contract(example: ModuleType, seed: int) -> None:
    check_layer(example.HardTanh(), stream(seed, "hard tanh"), exact_hard_tanh, nn.Hardtanh())


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e3, 1e100])
def test_lines_enclose_the_function_at_its_corners(example: ModuleType, scale: float) -> None:
    ends = scale * normal(stream(0, "lines"), 2, 300).sort(dim=0).values
    lines = example.HardTanh().lines(Bounds(*ends))
    parts = (*ends, lines.below.slope, lines.below.height, lines.above.slope, lines.above.height)
    with precision(EXACT):
        for low, high, s, t, u, v in zip(*map(balls, parts), strict=True):
            for a in (low, high, min(max(arb(-1), low), high), min(max(arb(1), low), high)):
                assert s * a + t <= clamp(a) <= u * a + v


@pytest.mark.parametrize("verifier", VERIFIERS, ids=lambda verifier: type(verifier).__name__)
@pytest.mark.parametrize("seed", range(20))
def test_no_margin_exceeds_an_exact_one(example: ModuleType, verifier, seed: int) -> None:
    """Activations of both signs, two activations in a row, affine layers in a row, one at the input."""
    generator, hard_tanh = stream(seed, "networks"), example.HardTanh()
    layers = [
        (Linear(2, 4), hard_tanh, Linear(4, 2)),
        (Linear(2, 4), hard_tanh, Linear(4, 3), hard_tanh, Linear(3, 2)),
        (hard_tanh, Linear(2, 3), ReLU(), hard_tanh, Linear(3, 2)),
        (Linear(2, 3), Linear(3, 3), hard_tanh, Linear(3, 3), Linear(3, 2)),
    ][seed % 4]
    network = Network(layers)
    size = [1e-160, 0.3, 1.0, 10.0, 1e80][seed // 4]
    center = size * normal(generator, 3, network.parameters)
    boxes = Box.around(center, 0.1 * size * uniform(generator, *center.shape))
    regions = Box.around(normal(generator, 2, 2), 0.2)
    C, d = normal(generator, 2, 3, 2), normal(generator, 2, 3)
    properties = Properties(regions, C, d)
    margins = verifier.margins(network, boxes, properties)
    assert size > 10 or margins.isfinite().all()
    with precision(EXACT):
        for b in range(3):
            for p in range(2):
                thetas, xs = random_points(boxes[b], 4, generator), random_points(regions[p], 4, generator)
                for theta, x in zip(thetas, xs, strict=True):
                    values = exact_forward(network, theta, x)
                    for r in range(3):
                        truth = dot(balls(C[p, r]), values) + arb(d[p, r].item())
                        assert below(margins[b, p, r].item(), truth)


def test_linear_bounds_are_tighter_where_only_the_input_varies(example: ModuleType) -> None:
    generator = stream(1, "tighter")
    network = Network((Linear(6, 12), example.HardTanh(), Linear(12, 12), example.HardTanh(), Linear(12, 3)))
    theta = 0.5 * normal(generator, 8, network.parameters)
    regions = Box.around(normal(generator, 8, 6), 0.05)
    properties = Properties(regions, normal(generator, 8, 2, 3), normal(generator, 8, 2))
    merged, linear = (verifier.margins(network, Box.point(theta), properties) for verifier in VERIFIERS[1:])
    assert (linear > merged).double().mean() > 0.9


def test_estimates_agree_with_the_verifier(example: ModuleType) -> None:
    generator = stream(2, "estimates")
    network = Network((Linear(3, 5), example.HardTanh(), Linear(5, 2)))
    theta = normal(generator, 20, network.parameters)
    properties = Properties(
        Box.around(normal(generator, 6, 3), 0.05), normal(generator, 6, 2, 2), normal(generator, 6, 2)
    )
    proven = IntervalVerifier()(network, Box.point(theta), properties)
    assert torch.equal(accepts(network, theta, properties), proven)
    assert 0.05 < proven.double().mean() < 0.95


def test_torch_networks_and_descriptions_are_read(example: ModuleType) -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.Hardtanh(), nn.Linear(4, 2)).double()
    network = from_torch(module)
    assert network == Network((Linear(3, 4), example.HardTanh(), Linear(4, 2)))
    assert Network.from_description(network.describe()) == network
    x = 3 * normal(stream(3, "torch"), 5, 3)
    theta = parameters_to_vector(module.parameters()).detach()
    torch.testing.assert_close(network(theta, x), module(x).detach())
    with pytest.raises(UnsupportedLayer, match=r"onto \[-2\.0, 2\.0\]"):
        from_torch(nn.Sequential(nn.Linear(3, 4), nn.Hardtanh(-2.0, 2.0)))


def test_backward_bounds_refuse_it_as_the_last_layer(example: ModuleType) -> None:
    network = Network((Linear(1, 1), example.HardTanh()))
    one = torch.ones(1, 1, dtype=torch.float64)
    properties = Properties(Box.point(one), one.unsqueeze(0), one)
    with pytest.raises(UnsupportedLayer, match=r"at the end.* not HardTanh"):
        LinearVerifier()(network, Box.point(torch.ones(1, 2, dtype=torch.float64)), properties)
