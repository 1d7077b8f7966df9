"""The convolution, against torch's own module; the contract of layers is checked in test_protocol.py."""

import pytest
import torch
from oracles import random_points
from problems import normal, uniform
from torch import nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.from_torch import from_torch
from fedcert.model.layers import Conv2d, Linear, ReLU
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.interval import Bounds
from fedcert.randomness import stream
from fedcert.verify.interval import IntervalVerifier
from fedcert.verify.linear import LinearVerifier

LAYER = Conv2d((2, 6, 5), 4, (3, 2), (2, 1), (1, 1), (1, 2), 2)


def module_of(layer: Conv2d) -> nn.Conv2d:
    options = (layer.stride, layer.padding, layer.dilation, layer.groups)
    return nn.Conv2d(layer.image[0], layer.filters, layer.kernel, *options).double()


def test_torch_stays_within_the_bounds() -> None:
    generator, module = stream(0, "conv"), module_of(LAYER)
    theta = [own.detach() for own in module.parameters()]
    bounds = [Bounds((own - 0.1).unsqueeze(0), (own + 0.1).unsqueeze(0)) for own in theta]
    x = normal(generator, 3, LAYER.inputs)
    region = Bounds(x - 0.2, x + 0.2)
    low, high = LAYER.interval(bounds, region)
    for _ in range(20):
        with torch.no_grad():
            for own, (least, most) in zip(module.parameters(), bounds, strict=True):
                own.copy_(least[0] + (most - least)[0] * uniform(generator, *own.shape))
        at = x + 0.4 * uniform(generator, *x.shape) - 0.2
        y = module(at.unflatten(-1, LAYER.image)).detach().flatten(1)
        assert ((low[0] <= y) & (y <= high[0])).all()


def test_it_is_the_fully_connected_layer_of_its_matrix() -> None:
    """The same bounds, up to rounding, for a box of inputs and a single kernel."""
    generator, count = stream(1, "conv"), sum(torch.Size(s).numel() for s in LAYER.shapes)
    conv = Network((LAYER,))
    theta = normal(generator, 1, count)
    shift = conv(0 * theta, torch.zeros(1, LAYER.inputs, dtype=torch.float64)).shape[-1]
    bias = conv(theta, torch.zeros(1, LAYER.inputs, dtype=torch.float64))[0, 0]
    matrix = (conv(theta, torch.eye(LAYER.inputs, dtype=torch.float64))[0] - bias).T
    dense = Network((Linear(LAYER.inputs, shift),))
    other = torch.cat([matrix.flatten(), bias]).unsqueeze(0)
    x = normal(generator, 2, LAYER.inputs)
    asked = Properties(Box.around(x, 0.1), normal(generator, 2, 3, shift), normal(generator, 2, 3))
    for verifier in (IntervalVerifier(), LinearVerifier()):
        found = verifier.margins(conv, Box.point(theta), asked)
        torch.testing.assert_close(found, verifier.margins(dense, Box.point(other), asked))


def test_one_kernel_at_all_positions_is_bounded_as_many() -> None:
    """No margin over a box of kernels exceeds that of a kernel in it."""
    generator = stream(2, "conv")
    network = Network((
        Conv2d((1, 4, 4), 2, (2, 2)),
        ReLU(),
        Conv2d((2, 3, 3), 2, (3, 3)),
        ReLU(),
        Linear(2, 2),
    ))
    boxes = Box.around(0.5 * normal(generator, 2, network.parameters), 0.02)
    regions = Box.around(normal(generator, 2, 16), 0.05)
    asked = Properties(regions, normal(generator, 2, 2, 2), normal(generator, 2, 2))
    for verifier in (IntervalVerifier(), LinearVerifier()):
        margins = verifier.margins(network, boxes, asked)
        for b in range(2):
            for p in range(2):
                thetas, xs = random_points(boxes[b], 50, generator), random_points(regions[p], 50, generator)
                z = network(thetas, xs.unsqueeze(1)).squeeze(1)
                assert (margins[b, p] <= (z @ asked.C[p].T + asked.d[p]).amin(0)).all()


@pytest.mark.parametrize(
    ("padding", "expected"), [("same", (2, 1)), ("valid", (0, 0)), (1, (1, 1)), ((1, 0), (1, 0))]
)
def test_padding_in_words_and_numbers(
    padding: str | int | tuple[int, int], expected: tuple[int, int]
) -> None:
    network = from_torch(nn.Conv2d(1, 1, (3, 3), padding=padding, dilation=(2, 1)), (1, 6, 6))
    assert network.layers[0].padding == expected


@pytest.mark.parametrize(
    ("module", "shape", "words"),
    [
        (nn.Conv2d(1, 1, 2, padding="same"), (1, 4, 4), "even size"),
        (nn.Conv2d(1, 1, 3, padding_mode="circular"), (1, 4, 4), "'circular'"),
        (nn.Conv2d(1, 1, 3), (16,), "channels, height and width"),
        (nn.Conv2d(1, 1, 3), None, "channels, height and width"),
    ],
)
def test_other_convolutions_are_refused(module: nn.Module, shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(UnsupportedLayer, match=words):
        from_torch(module, shape)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("fields", [{"filters": 0}, {"filters": 3, "groups": 2}, {"filters": 2.0}])
def test_filters_that_do_not_fit_are_refused(fields: dict) -> None:
    with pytest.raises(ShapeMismatch, match="filters"):
        Conv2d(**{"image": (2, 3, 3), "kernel": (2, 2), **fields})
    with pytest.raises(ShapeMismatch, match="channels for a Conv2d of 3"):
        from_torch(nn.Conv2d(3, 1, 2), (1, 4, 4))
