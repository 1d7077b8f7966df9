"""The layers that the checker knows, and networks made of them."""

from typing import Any

import numpy as np
import pytest

from fedcert_check.errors import InvalidCertificate
from fedcert_check.layers import LAYERS, MAX_LAYERS, LeakyReLU, Linear, Network, ReLU

RELU = {"type": "relu"}


def linear(inputs: Any, outputs: Any) -> dict[str, Any]:
    return {"type": "linear", "inputs": inputs, "outputs": outputs}


def test_a_network_is_read_layer_by_layer() -> None:
    network = Network.read([linear(3, 2), RELU, linear(2, 4)])
    assert network.layers == (Linear(3, 2), ReLU(), Linear(2, 4))
    assert network.linear == [Linear(3, 2), Linear(2, 4)]
    assert network.widths == (3, 2, 4)
    assert network.sizes == [6, 2, 8, 4]
    assert network.dimension == 20
    assert network.alternating


@pytest.mark.parametrize("kind", ["tanh", "Linear", "", None, 3, ["relu"], {"relu": 1}])
def test_another_layer_is_refused_by_name(kind: object) -> None:
    assert list(LAYERS.known) == ["linear", "relu", "leaky-relu"]
    with pytest.raises(InvalidCertificate) as refused:
        Network.read([linear(1, 1), {"type": kind}])
    assert str(refused.value) == f"layer type {kind!r}: this checker knows linear and relu and leaky-relu"


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ([], "no layers"),
        ("linear", "no layers"),
        ([3], "a layer is 3"),
        ([{}], "a layer is {}"),
        ([RELU], "no linear layer"),
        ([linear(1, 1), RELU, RELU], "a ReLU follows a ReLU"),
        ([linear(1, 2), RELU, linear(3, 1)], "a layer of 3 inputs follows one of 2 outputs"),
        ([linear(0, 1)], "number of inputs is 0"),
        ([linear(1, 2.0)], "number of outputs is 2.0"),
        ([{"type": "linear", "inputs": 1}], "a linear layer has the fields"),
        ([linear(1, 1), {"type": "relu", "slope": 0.1}], "a ReLU layer has the fields"),
        ([linear(1, 1), {"type": "leaky-relu"}], "a leaky ReLU layer has the fields"),
        *(
            ([linear(1, 1), {"type": "leaky-relu", "slope": slope}], "a leaky ReLU of slope")
            for slope in (-0.1, 1.1, True, "0.1", None, float("nan"))
        ),
        ([linear(1, 1), RELU, {"type": "leaky-relu", "slope": 0.1}], "a ReLU follows a ReLU"),
        ([linear(1, 1)] * (MAX_LAYERS + 1), f"more than {MAX_LAYERS}"),
    ],
)
def test_what_is_no_network_is_refused(entries: object, complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        Network.read(entries)


def test_the_parameters_are_the_weights_row_by_row_and_then_the_biases() -> None:
    network = Network((Linear(3, 2), ReLU(), Linear(2, 1)))
    (W, b), (V, c) = network.matrices(np.arange(11))
    assert W.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (b.tolist(), V.tolist(), c.tolist()) == ([6, 7], [[8, 9]], [10])
    for count in (10, 12):
        with pytest.raises(InvalidCertificate, match=f"{count} parameters for a network of 11"):
            network.matrices(np.arange(count))


@pytest.mark.parametrize(
    ("pattern", "alternating"), [("l", True), ("lrl", True), ("lr", True), ("ll", False), ("rl", False)]
)
def test_whether_layers_take_turns(pattern: str, alternating: bool) -> None:
    layers = tuple(Linear(1, 1) if kind == "l" else ReLU() for kind in pattern)
    assert Network(layers).alternating == alternating


def test_a_leaky_relu_has_a_slope_and_takes_turns_like_any() -> None:
    network = Network.read([linear(1, 2), {"type": "leaky-relu", "slope": 0.25}, linear(2, 1)])
    assert network.layers[1] == LeakyReLU(0.25)
    assert network.leaky
    assert network.alternating
    assert not Network.read([linear(1, 2), RELU, linear(2, 1)]).leaky
