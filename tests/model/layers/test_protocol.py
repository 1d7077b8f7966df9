"""Every layer of the package through the contract that all layers share."""

from functools import partial

import pytest
import torch
from exact_images import exact_conv2d, exact_mean, windows_of
from flint import arb
from fuzz.balls import dot, relu
from fuzz.networks import exact_layer
from layer_contract import Exact, check_layer
from problems import normal
from torch import nn

from fedcert.model.layers import (
    Activation,
    Affine,
    AvgPool2d,
    Branched,
    Conv2d,
    Layer,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
    ResidualSum,
    Sigmoid,
    Tanh,
    Unrolled,
)
from fedcert.model.layers.registry import registered_layers
from fedcert.randomness import stream


def exact_linear(parameters: list, x: list[arb]) -> list[arb]:
    weight, bias = parameters
    return [dot(row, x) + b for row, b in zip(weight, bias, strict=True)]


def exact_relu(parameters: list, x: list[arb]) -> list[arb]:
    return [relu(a) for a in x]


def exact_leaky(slope: float) -> Exact:
    return lambda parameters, x: [a if a > 0 else arb(slope) * a for a in x]


def exact_tanh(parameters: list, x: list[arb]) -> list[arb]:
    return [a.tanh() for a in x]


def exact_sigmoid(parameters: list, x: list[arb]) -> list[arb]:
    return [(1 + (a / 2).tanh()) / 2 for a in x]


def exact_avg_pool(layer: AvgPool2d) -> Exact:
    return lambda parameters, x: [exact_mean(own) for own in windows_of(layer, x)]


def exact_max_pool(layer: MaxPool2d) -> Exact:
    return lambda parameters, x: [max(own) for own in windows_of(layer, x)]


STRIDED = Conv2d((1, 3, 3), 2, (2, 2), stride=(2, 1), padding=(1, 0))
GROUPED = Conv2d((4, 2, 2), 2, (1, 2), groups=2)
DILATED = Conv2d((2, 3, 4), 1, (2, 2), padding=(0, 1), dilation=(2, 2))
MEAN, PADDED_MEAN = AvgPool2d((2, 2, 4), (2, 2), (2, 2)), AvgPool2d((1, 3, 3), (3, 2), (1, 1), (1, 1))
MAXIMUM, OVERLAPPING = MaxPool2d((2, 2, 4), (2, 2), (2, 2)), MaxPool2d((1, 3, 3), (2, 2), (1, 1))

BLOCK = ResidualSum((Linear(2, 3), ReLU(), Linear(3, 2)))
PROJECTED = ResidualSum((ReLU(), Linear(2, 2), LeakyReLU(0.25)), (Linear(2, 2),))
ON_IMAGES = ResidualSum(
    (Conv2d((1, 2, 2), 2, (1, 2), padding=(0, 1)), ReLU(), Conv2d((2, 2, 3), 1, (1, 2))),
    (MaxPool2d((1, 2, 2), (1, 1), (1, 1)),),
)

CASES: list[tuple[Layer, Exact, nn.Module | None]] = [
    (Linear(3, 2), exact_linear, nn.Linear(3, 2)),
    (Linear(1, 4), exact_linear, nn.Linear(1, 4)),
    (ReLU(), exact_relu, nn.ReLU()),
    (ReLU(), exact_relu, nn.ReLU(inplace=False)),
    (LeakyReLU(0.01), exact_leaky(0.01), nn.LeakyReLU()),
    (LeakyReLU(1 / 3), exact_leaky(1 / 3), nn.LeakyReLU(1 / 3)),
    (Tanh(), exact_tanh, nn.Tanh()),
    (Sigmoid(), exact_sigmoid, nn.Sigmoid()),
    (STRIDED, exact_conv2d(STRIDED), nn.Conv2d(1, 2, 2, (2, 1), (1, 0))),
    (GROUPED, exact_conv2d(GROUPED), nn.Conv2d(4, 2, (1, 2), groups=2)),
    (DILATED, exact_conv2d(DILATED), nn.Conv2d(2, 1, 2, padding=(0, 1), dilation=2)),
    (MEAN, exact_avg_pool(MEAN), nn.AvgPool2d(2)),
    (PADDED_MEAN, exact_avg_pool(PADDED_MEAN), nn.AvgPool2d((3, 2), 1, 1)),
    (MAXIMUM, exact_max_pool(MAXIMUM), nn.MaxPool2d(2)),
    (OVERLAPPING, exact_max_pool(OVERLAPPING), nn.MaxPool2d(2, 1)),
    (BLOCK, partial(exact_layer, BLOCK), None),
    (PROJECTED, partial(exact_layer, PROJECTED), None),
    (ON_IMAGES, partial(exact_layer, ON_IMAGES), None),
]
CHEAP = {Linear, ReLU, LeakyReLU}  # in ball arithmetic
UNROLLED = {Linear, Conv2d, AvgPool2d}
AFFINE, ACTIVATIONS, BRANCHED = {Linear}, {LeakyReLU, ReLU, Sigmoid, Tanh}, {ResidualSum}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "exact", "module"), CASES, ids=lambda x: str(x) if isinstance(x, Layer) else ""
)
def test_a_layer_keeps_the_contract(layer: Layer, exact: Exact, module: nn.Module | None) -> None:
    for seed in range(3 if type(layer) in CHEAP else 1):
        check_layer(layer, stream(seed, "layer"), exact, module)


def test_every_layer_of_the_package_is_here() -> None:
    own = {layer for layer in registered_layers() if layer.__module__.startswith("fedcert.")}
    assert own == {type(layer) for layer, _, _ in CASES}


def test_layers_say_what_they_are() -> None:
    for layer, _, _ in CASES:
        assert isinstance(layer, Affine) == (type(layer) in AFFINE)
        assert isinstance(layer, Unrolled) == (type(layer) in UNROLLED)
        assert isinstance(layer, Branched) == (type(layer) in BRANCHED)
        assert isinstance(layer, Activation) == (type(layer) in ACTIVATIONS)
        assert layer.nonlinear == (type(layer) in {*ACTIVATIONS, MaxPool2d})


@pytest.mark.parametrize("layer", [own for own, _, _ in CASES if isinstance(own, Unrolled)], ids=str)
def test_the_matrix_of_a_layer_computes_what_the_layer_does(layer: Unrolled) -> None:
    generator = stream(0, "matrix")
    parameters = [normal(generator, 2, *shape) for shape in layer.shapes]
    matrix, offset = layer.unrolled(parameters)
    x = normal(generator, 5, layer.inputs)
    torch.testing.assert_close(x @ matrix.mT + offset.unsqueeze(-2), layer(parameters, x))
    if parameters:
        assert set(matrix.unique().tolist()) <= {0.0, *parameters[0].unique().tolist()}
