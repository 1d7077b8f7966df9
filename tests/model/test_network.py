from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, prune
from torch.nn.utils.parametrizations import weight_norm

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.network import Linear, Network, from_torch, mlp
from fedcert.randomness import stream


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


def test_a_batch_of_parameter_vectors_is_a_batch_of_networks() -> None:
    network = mlp(3, 4, 2)
    theta = torch.randn(5, network.parameters, dtype=torch.float64)
    x = torch.randn(6, 3, dtype=torch.float64)
    outputs = network(theta, x)
    assert outputs.shape == (5, 6, 2)
    torch.testing.assert_close(outputs[3], network(theta[3], x))


@pytest.mark.parametrize("layer", [nn.Conv2d(1, 1, 3), nn.Tanh(), nn.Linear(3, 2, bias=False), nn.Dropout()])
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


class Residual(nn.Sequential):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + super().forward(x)


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
        Residual(nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2), Negation()),
        nn.Sequential(hooked()),
        nn.Sequential(prune.random_unstructured(nn.Linear(2, 2), "weight", 0.5)),
        nn.Sequential(weight_norm(nn.Linear(2, 2))),
        nn.Linear(2, 2),
    ],
    ids=["own forward", "subclass", "hook", "pruned", "parametrised", "no Sequential"],
)
def test_what_computes_something_else_than_its_type_says_raises(module: nn.Module) -> None:
    with pytest.raises(Exception, match=r"only a plain|supported are|module"):
        from_torch(module)


@pytest.mark.parametrize("widths", [(3,), (3, 0, 2), ()])
def test_impossible_widths_raise(widths: tuple[int, ...]) -> None:
    with pytest.raises(ShapeMismatch):
        mlp(*widths)


def test_layers_that_do_not_fit_raise() -> None:
    with pytest.raises(ShapeMismatch, match="widths differ"):
        Network((Linear(3, 4), Linear(5, 2)))
    with pytest.raises(ShapeMismatch):
        Network(())


def test_a_parameter_vector_of_the_wrong_length_raises() -> None:
    with pytest.raises(ShapeMismatch, match="length 4"):
        mlp(3, 2)(torch.zeros(4), torch.zeros(1, 3))


def test_initialisation_is_torchs_range_and_seeded() -> None:
    network = mlp(100, 50, 10)
    theta = network.initialise(stream(0, "initialisation"))
    assert torch.equal(theta, network.initialise(stream(0, "initialisation")))
    first, _, second = network.unflatten(theta)
    for parameters, inputs in ((first, 100), (second, 50)):
        for parameter in parameters:
            assert parameter.abs().max() <= inputs**-0.5
        assert parameters[0].abs().max() > 0.9 * inputs**-0.5
