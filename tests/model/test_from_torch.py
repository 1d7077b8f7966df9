from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, prune
from torch.nn.utils.parametrizations import weight_norm

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.from_torch import from_torch
from fedcert.model.network import mlp


@pytest.mark.parametrize("widths", [(3, 2), (5, 4, 3), (4, 6, 6, 2), (784, 64, 10)])
def test_the_flat_network_computes_what_torch_does(widths: tuple[int, ...]) -> None:
    layers = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    module = nn.Sequential(*layers[:-1]).double()
    network = from_torch(module)
    assert network == mlp(*widths)
    theta = parameters_to_vector(module.parameters()).detach()
    x = torch.randn(7, widths[0], dtype=torch.float64)
    torch.testing.assert_close(network(theta, x), module(x).detach())
    assert network.parameters == len(theta)
    assert (network.inputs, network.outputs) == (widths[0], widths[-1])


@pytest.mark.parametrize("layer", [nn.Conv2d(1, 1, 3), nn.GELU(), nn.Bilinear(3, 2, 2), nn.LayerNorm(3)])
def test_an_unsupported_torch_layer_raises_and_names_itself(layer: nn.Module) -> None:
    with pytest.raises(UnsupportedLayer, match=type(layer).__name__):
        from_torch(nn.Sequential(layer))


def test_a_module_that_is_used_twice_is_not_lost() -> None:
    relu = nn.ReLU()
    shared = nn.Sequential(nn.Linear(1, 1), relu, nn.Linear(1, 1), relu, nn.Linear(1, 1))
    assert from_torch(shared) == mlp(1, 1, 1, 1)
    linear = nn.Linear(1, 1)
    with pytest.raises(UnsupportedLayer, match="used once"):
        from_torch(nn.Sequential(linear, relu, linear))


class Gated(nn.Sequential):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * super().forward(x)


class Negation(nn.ReLU):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return -x


def hooked() -> nn.Linear:
    linear = nn.Linear(2, 2)
    linear.register_forward_hook(lambda module, inputs, output: -output)
    return linear


@pytest.mark.parametrize(
    "module",
    [
        Gated(nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2), Negation()),
        nn.Sequential(hooked()),
        nn.Sequential(prune.random_unstructured(nn.Linear(2, 2), "weight", 0.5)),
        nn.Sequential(weight_norm(nn.Linear(2, 2))),
    ],
    ids=["own forward", "subclass", "hook", "pruned", "parametrised"],
)
def test_what_computes_something_else_than_its_type_says_raises(module: nn.Module) -> None:
    with pytest.raises(UnsupportedLayer, match="supported are"):
        from_torch(module)


def test_a_subclass_of_a_layer_is_refused_by_its_own_name() -> None:
    with pytest.raises(UnsupportedLayer, match=r"layer 1 is a .*Negation.*no layer .* for .*Negation"):
        from_torch(nn.Sequential(nn.Linear(2, 2), Negation()))


def test_weights_that_two_modules_share_are_refused() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    with pytest.raises(UnsupportedLayer, match=r"layer 1 .* used once"):
        from_torch(nn.Sequential(first, second))


def test_a_forward_of_its_own_is_refused() -> None:
    module = nn.ReLU()
    module.forward = lambda x: -x  # type: ignore[method-assign]
    with pytest.raises(UnsupportedLayer, match="forward of their own"):
        from_torch(nn.Sequential(nn.Linear(2, 2), module))


def test_the_shape_of_an_input_is_checked_and_flattened() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(6, 2))
    assert from_torch(module, (2, 3)) == from_torch(module) == mlp(6, 2)
    with pytest.raises(ShapeMismatch, match="inputs of length 8"):
        from_torch(module, (2, 4))
    with pytest.raises(UnsupportedLayer, match="needs a Flatten"):
        from_torch(nn.Sequential(nn.Linear(3, 2)), (2, 3))


def test_an_error_names_the_module_and_what_is_supported() -> None:
    with pytest.raises(UnsupportedLayer, match=r"torch\.nn\.modules\.activation\.GELU.*Linear.*ReLU"):
        from_torch(nn.Sequential(nn.Linear(2, 2), nn.GELU()))
