"""Where the parameters of each layer are."""

import pytest
import torch

from fedcert.laws.places import parameter_places
from fedcert.model.layers import AvgPool2d, Conv2d, Linear, MaxPool2d, ReLU
from fedcert.model.network import Network

NETWORK = Network((
    Conv2d((2, 3, 3), 2, (2, 2), groups=2), ReLU(), AvgPool2d((2, 2, 2), (2, 2), (1, 1)), Linear(2, 3)
))  # fmt: skip


def test_every_parameter_has_one_place() -> None:
    places = parameter_places(NETWORK)
    assert [type(place.layer) for place in places] == [Conv2d, AvgPool2d, Linear]
    assert [tuple(place.weights.shape) for place in places] == [(2, 1, 4), (0,), (3, 2)]
    every = torch.cat([place.every for place in places])
    assert every.tolist() == list(range(NETWORK.parameters))


@pytest.mark.parametrize("layer", [ReLU(), MaxPool2d((1, 1, 2), (1, 2), (1, 1))], ids=str)
def test_layers_without_parameters_have_none(layer: ReLU | MaxPool2d) -> None:
    assert len(parameter_places(Network((Linear(1, 2), layer)))) == 1
