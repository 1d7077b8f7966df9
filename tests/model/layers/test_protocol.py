"""Every layer of the package through the contract that all layers share."""

import pytest
from flint import arb
from fuzz.balls import dot, relu
from layer_contract import Exact, check_layer
from torch import nn

from fedcert.model.layers import Activation, Affine, Layer, LeakyReLU, Linear, ReLU
from fedcert.model.layers.registry import registered_layers
from fedcert.randomness import stream


def exact_linear(parameters: list, x: list[arb]) -> list[arb]:
    weight, bias = parameters
    return [dot(row, x) + b for row, b in zip(weight, bias, strict=True)]


def exact_relu(parameters: list, x: list[arb]) -> list[arb]:
    return [relu(a) for a in x]


def exact_leaky(slope: float) -> Exact:
    return lambda parameters, x: [a if a > 0 else arb(slope) * a for a in x]


CASES: list[tuple[Layer, Exact, nn.Module]] = [
    (Linear(3, 2), exact_linear, nn.Linear(3, 2)),
    (Linear(1, 4), exact_linear, nn.Linear(1, 4)),
    (ReLU(), exact_relu, nn.ReLU()),
    (ReLU(), exact_relu, nn.ReLU(inplace=False)),
    (LeakyReLU(0.01), exact_leaky(0.01), nn.LeakyReLU()),
    (LeakyReLU(1 / 3), exact_leaky(1 / 3), nn.LeakyReLU(1 / 3)),
]
AFFINE, ACTIVATIONS = {Linear}, {LeakyReLU, ReLU}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "exact", "module"), CASES, ids=lambda x: str(x) if isinstance(x, Layer) else ""
)
@pytest.mark.parametrize("seed", range(3))
def test_a_layer_keeps_the_contract(layer: Layer, exact: Exact, module: nn.Module, seed: int) -> None:
    check_layer(layer, stream(seed, "layer"), exact, module)


def test_every_layer_of_the_package_is_here() -> None:
    own = {layer for layer in registered_layers() if layer.__module__.startswith("fedcert.")}
    assert own == {type(layer) for layer, _, _ in CASES}


def test_layers_say_what_they_are() -> None:
    for layer, _, _ in CASES:
        assert isinstance(layer, Affine) == (type(layer) in AFFINE)
        assert isinstance(layer, Activation) == (type(layer) in ACTIVATIONS)
        assert layer.nonlinear == (type(layer) in ACTIVATIONS)
