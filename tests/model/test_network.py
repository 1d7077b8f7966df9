import json

import pytest
import torch
from torch import nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.from_torch import from_torch
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network, cnn, mlp
from fedcert.randomness import stream


def test_a_batch_of_parameter_vectors_is_a_batch_of_networks() -> None:
    network = mlp(3, 4, 2)
    theta = torch.randn(5, network.parameters, dtype=torch.float64)
    x = torch.randn(6, 3, dtype=torch.float64)
    outputs = network(theta, x)
    assert outputs.shape == (5, 6, 2)
    torch.testing.assert_close(outputs[3], network(theta[3], x))


@pytest.mark.parametrize("widths", [(3,), (3, 0, 2), ()])
def test_impossible_widths_raise(widths: tuple[int, ...]) -> None:
    with pytest.raises(ShapeMismatch):
        mlp(*widths)


def test_layers_that_do_not_fit_raise() -> None:
    with pytest.raises(ShapeMismatch, match="widths differ"):
        Network((Linear(3, 4), Linear(5, 2)))
    with pytest.raises(
        ShapeMismatch, match=r"ReLU\(\) is followed by Linear\(inputs=5, outputs=2\): widths differ"
    ):
        Network((ReLU(), Linear(3, 4), ReLU(), Linear(5, 2)))
    with pytest.raises(ShapeMismatch):
        Network(())
    with pytest.raises(ShapeMismatch, match="at least one layer"):
        Network((ReLU(),))


def test_activations_keep_the_width() -> None:
    network = Network((ReLU(), Linear(3, 4), ReLU()))
    assert (network.inputs, network.outputs, network.parameters) == (3, 4, 16)


class Negation(ReLU):
    def __call__(self, parameters, x):
        return -x


def test_a_layer_that_is_not_registered_is_refused_by_its_full_name() -> None:
    with pytest.raises(
        UnsupportedLayer, match=r"test_network\.Negation is not a registered layer.*Linear.*ReLU"
    ):
        Network((Linear(2, 2), Negation()))


@pytest.mark.parametrize("network", [mlp(3, 2), mlp(4, 6, 6, 2), Network((ReLU(), Linear(2, 3), ReLU()))])
def test_a_description_is_read_as_the_network(network: Network) -> None:
    assert Network.from_description(json.loads(json.dumps(network.describe()))) == network


@pytest.mark.parametrize(
    ("layers", "error"),
    [
        ([{"type": "gelu"}], UnsupportedLayer),
        ([{"type": "linear", "inputs": 0, "outputs": 3}], ShapeMismatch),
        (
            [{"type": "linear", "inputs": 2, "outputs": 3}, {"type": "linear", "inputs": 2, "outputs": 3}],
            ShapeMismatch,
        ),
        ([], ShapeMismatch),
        ([{"type": "relu", "slope": 0.1}, {"type": "linear", "inputs": 2, "outputs": 3}], TypeError),
        ([{"inputs": 2, "outputs": 3}], KeyError),
    ],
)
def test_a_description_that_makes_no_sense_raises(layers: list, error: type[Exception]) -> None:
    with pytest.raises(error):
        Network.from_description(layers)


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


def test_a_cnn_is_the_one_that_torch_computes() -> None:
    module = nn.Sequential(
        *(nn.Conv2d(2, 3, 4, 2, 1), nn.ReLU(), nn.Conv2d(3, 5, 4, 2, 1), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(5 * 2 * 3, 7), nn.ReLU(), nn.Linear(7, 4)),
    )
    network = cnn((2, 8, 12), (3, 5), 7, 4)
    assert network == from_torch(module, shape=(2, 8, 12))
    theta = network.initialise(stream(0, "initialisation")).requires_grad_()
    x = torch.rand(6, 2, 8, 12, generator=stream(0, "x"))
    nn.utils.vector_to_parameters(theta.detach(), module.parameters())
    torch.testing.assert_close(network(theta, x.flatten(1)), module(x))
    network(theta, x.flatten(1)).square().sum().backward()
    module(x).square().sum().backward()
    torch.testing.assert_close(theta.grad, torch.cat([own.grad.flatten() for own in module.parameters()]))


def test_a_cnn_starts_in_torchs_range() -> None:
    first, _, second, *_ = cnn((2, 8, 8), (30, 20), 4).unflatten(
        cnn((2, 8, 8), (30, 20), 4).initialise(stream(0, "initialisation"))
    )
    for (weight, bias), inputs in ((first, 2 * 16), (second, 30 * 16)):
        assert 0.9 * inputs**-0.5 < weight.abs().max() <= inputs**-0.5
        assert bias.abs().max() <= inputs**-0.5


@pytest.mark.parametrize(
    ("channels", "widths"), [((), (3,)), ((2, 0), (3,)), ((2,), ()), ((2, 2, 2, 2), (3,))]
)
def test_a_cnn_without_layers_or_with_too_many_raises(
    channels: tuple[int, ...], widths: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeMismatch):
        cnn((1, 8, 8), channels, *widths)
