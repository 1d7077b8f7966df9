"""The name that the checker gives a network is the one it was built by."""

import pytest

from fedcert.app.architecture import Architecture
from fedcert.model.layers import Conv2d, Layer, Linear, ReLU, Tanh
from fedcert.model.network import Network
from fedcert_check.architecture import dense_widths, network_name
from fedcert_check.layers import Network as CheckedNetwork


def checked(*layers: Layer) -> CheckedNetwork:
    return CheckedNetwork.read(Network(layers).describe())


@pytest.mark.parametrize("name", ["mlp:", "mlp:7", "mlp:5,4", "cnn:3", "cnn:3,2/6", "cnn:2/5,4"])
def test_a_network_has_its_name(name: str) -> None:
    built = Architecture.read(name)
    network = checked(*built.network(64, 10, (8, 8)).layers)
    assert network_name(network) == name
    assert dense_widths(network) == list(built.hidden)


@pytest.mark.parametrize(
    "layers",
    [
        (Linear(4, 3), Tanh(), Linear(3, 2)),
        (Linear(4, 3), Linear(3, 2)),
        (Linear(4, 3), ReLU()),
        (Conv2d((1, 8, 8), 2, (4, 4), (2, 2), (1, 1)), ReLU()),
        (Conv2d((1, 8, 8), 2, (3, 3), (2, 2), (1, 1)), ReLU(), Linear(32, 2)),
        (Conv2d((1, 8, 8), 2, (4, 4), (1, 1), (1, 1)), ReLU(), Linear(98, 2)),
        (Conv2d((1, 8, 8), 2, (4, 4), (2, 2), (3, 3)), ReLU(), Linear(72, 2)),
        (Conv2d((2, 8, 8), 2, (4, 4), (2, 2), (1, 1), groups=2), ReLU(), Linear(32, 2)),
        (Linear(9, 64), ReLU(), Conv2d((1, 8, 8), 2, (4, 4), (2, 2), (1, 1)), ReLU(), Linear(32, 2)),
    ],
)
def test_any_other_network_has_none(layers: tuple[Layer, ...]) -> None:
    assert network_name(checked(*layers)) is None
