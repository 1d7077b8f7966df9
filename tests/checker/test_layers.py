"""The layers that the checker knows, and networks made of them."""

from typing import Any

import numpy as np
import pytest

from fedcert_check.errors import InvalidCertificate
from fedcert_check.layers import LAYERS, MAX_LAYERS, LeakyReLU, Linear, Network, ReLU, Residual, Tanh

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
    assert network.rectified


@pytest.mark.parametrize("kind", ["gelu", "Linear", "", None, 3, ["relu"], {"relu": 1}])
def test_another_layer_is_refused_by_name(kind: object) -> None:
    single = ["linear", "conv2d", "avg-pool2d", "max-pool2d", "relu", "leaky-relu", "tanh", "sigmoid"]
    known = [*single, "residual"]
    assert list(LAYERS.known) == known
    with pytest.raises(InvalidCertificate) as refused:
        Network.read([linear(1, 1), {"type": kind}])
    assert str(refused.value) == f"layer type {kind!r}: this checker knows {' and '.join(known)}"


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ([], "no layers"),
        ("linear", "no layers"),
        ([3], "a layer is 3"),
        ([{}], "a layer is {}"),
        ([RELU], "no linear layer"),
        ([linear(1, 1), RELU, RELU], "an activation follows another"),
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
        ([linear(1, 1), RELU, {"type": "leaky-relu", "slope": 0.1}], "an activation follows another"),
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
    ("pattern", "rectified"),
    [("l", True), ("lrl", True), ("lr", True), ("ll", False), ("rl", False), ("lkl", False), ("ltl", False)],
)
def test_whether_linear_layers_and_relus_take_turns(pattern: str, rectified: bool) -> None:
    kinds = {"l": Linear(1, 1), "r": ReLU(), "k": LeakyReLU(0.25), "t": Tanh()}
    assert Network(tuple(kinds[kind] for kind in pattern)).rectified == rectified


def conv(**other: Any) -> dict[str, Any]:
    fields = {"image": [1, 4, 4], "filters": 2, "kernel": [3, 3], "stride": [1, 1], "padding": [0, 0]}
    return {"type": "conv2d", **fields, "dilation": [1, 1], "groups": 1, **other}


def pool(kind: str, **other: Any) -> dict[str, Any]:
    third = {"avg-pool2d": "padding", "max-pool2d": "dilation"}[kind]
    sides = {"kernel": [2, 2], "stride": [2, 2], third: [0, 0] if third == "padding" else [1, 1]}
    return {"type": kind, "image": [2, 2, 2], **sides, **other}


def test_a_network_on_images_is_read() -> None:
    network = Network.read([conv(), {"type": "tanh"}, pool("avg-pool2d"), {"type": "sigmoid"}, linear(2, 1)])
    assert network.widths == (16, 8, 2, 1)
    assert network.sizes == [18, 2, 2, 1]
    assert not network.rectified
    assert Network.read([conv(), pool("max-pool2d")]).widths == (16, 8, 2)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (conv(kernel=[5, 3]), "a kernel of"),
        (conv(kernel=[3]), "a layer's kernel is"),
        (conv(kernel=3), "a layer's kernel is 3"),
        (conv(stride=[0, 1]), "a layer's stride is 0"),
        (conv(padding=[0, -1]), "a layer's padding is -1"),
        (conv(dilation=[2, 2]), "a kernel of"),
        (conv(image=[4, 4]), "a layer's image is"),
        (conv(image=[1, 4, True]), "a layer's image is True"),
        (conv(filters=0), "number of filters is 0"),
        (conv(groups=2), "1 channels and 2 filters in 2 groups"),
        (conv(image=[2, 4, 4], filters=3, groups=2), "2 channels and 3 filters in 2 groups"),
        (conv(bias=False), "a conv2d layer has the fields"),
        (pool("avg-pool2d", dilation=[1, 1]), "an avg-pool2d layer has the fields"),
        (pool("max-pool2d", padding=[0, 0]), "a max-pool2d layer has the fields"),
        (pool("max-pool2d", kernel=[3, 1]), "a kernel of"),
        ({"type": "tanh", "slope": 1.0}, "a Tanh layer has the fields"),
        ({"type": "sigmoid", "slope": 1.0}, "a Sigmoid layer has the fields"),
    ],
)
def test_what_is_no_layer_on_images_is_refused(entry: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        Network.read([entry, linear(8, 1)])


def residual(body: Any, shortcut: Any = (), **other: Any) -> dict[str, Any]:
    shortcut = list(shortcut) if isinstance(shortcut, tuple) else shortcut
    return {"type": "residual", "body": body, "shortcut": shortcut, **other}


def test_a_residual_layer_is_read_with_the_layers_inside() -> None:
    network = Network.read([
        linear(3, 2),
        residual([RELU, linear(2, 4)], (linear(2, 4),)),
        RELU,
        linear(4, 1),
    ])
    assert network.layers[1] == Residual((ReLU(), Linear(2, 4)), (Linear(2, 4),))
    assert network.linear == [Linear(3, 2), Linear(2, 4), Linear(2, 4), Linear(4, 1)]
    assert network.widths == (3, 2, 4, 1)
    assert network.maps == [(3, 2), (2, 4), (2, 4), (4, 1)]
    assert network.sizes == [6, 2, 8, 4, 8, 4, 4, 1]
    assert not network.rectified
    assert Network.read([residual([linear(2, 2)])]).widths == (2, 2)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (residual([]), "needs a layer with a number of inputs"),
        (residual([RELU]), "needs a layer with a number of inputs"),
        (residual("relu"), "layers are 'relu'"),
        (residual([linear(2, 2)], {}), "layers are {}"),
        (residual([linear(2, 2)], None), "layers are None"),
        (residual([3]), "a layer is 3"),
        (residual([linear(2, 3)]), "a residual layer adds 3 numbers to 2"),
        (residual([linear(2, 3)], (linear(2, 2),)), "a residual layer adds 3 numbers to 2"),
        (residual([linear(2, 2)], (linear(3, 2),)), "a layer of 3 inputs follows one of 2 outputs"),
        (residual([linear(2, 4), linear(3, 2)]), "a layer of 3 inputs follows one of 4 outputs"),
        (residual([RELU, {"type": "tanh"}, linear(2, 2)]), "an activation follows another"),
        (residual([residual([linear(2, 2)])]), "layer type 'residual'"),
        (residual([linear(2, 2)], more=1), "a residual layer has the fields"),
        (residual([linear(2, 2)] * (MAX_LAYERS + 1)), f"more than {MAX_LAYERS}"),
        (residual([linear(2, 2)] * MAX_LAYERS, (linear(2, 2),)), f"more than {MAX_LAYERS}"),
    ],
)
def test_what_is_no_residual_layer_is_refused(entry: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidCertificate, match=complaint):
        Network.read([entry, linear(2, 1)])
