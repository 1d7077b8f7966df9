"""Maxima over windows: lines around them, what is read from torch, and what is refused."""

import pytest
from problems import vector
from torch import nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers import MaxPool2d
from fedcert.model.layers.registry import layer_of_module
from fedcert.numerics.backward import LinearBound
from fedcert.numerics.interval import Bounds

IMAGE = (1, 4, 6)


def test_a_pixel_that_is_the_greatest_for_sure_is_the_maximum() -> None:
    """Both bounds are the pixel itself, without a loss."""
    layer = MaxPool2d((1, 1, 3), (1, 3), (1, 1))
    x = Bounds(vector(1.0, -1.0, 0.0).unsqueeze(0), vector(2.0, 1.0, 0.5).unsqueeze(0))
    for sign in (1.0, -1.0):
        bound = layer.backward((), x, LinearBound.of(vector(sign).view(1, 1, 1, 1))).settled(x)
        assert bound.coefficients.flatten().tolist() == [sign, 0.0, 0.0]
        assert bound.constant.item() == 0.0


def test_a_chord_is_better_than_the_greatest_end() -> None:
    """max(a, b) for a in [0, 2], b in [0, 1] is at most a/2 + 1: less than 2 wherever a is."""
    layer = MaxPool2d((1, 1, 2), (1, 2), (1, 1))
    x = Bounds(vector(0.0, 0.0).unsqueeze(0), vector(2.0, 1.0).unsqueeze(0))
    bound = layer.backward((), x, LinearBound.of(vector(-1.0).view(1, 1, 1, 1))).settled(x)
    assert bound.coefficients.flatten().tolist() == [-0.5, 0.0]
    assert bound.constant.item() == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("module", "layer"),
    [
        (nn.MaxPool2d(2), MaxPool2d(IMAGE, (2, 2), (2, 2))),
        (nn.MaxPool2d((2, 3), 1, dilation=(2, 1)), MaxPool2d(IMAGE, (2, 3), (1, 1), (2, 1))),
    ],
    ids=str,
)
def test_modules_are_read(module: nn.Module, layer: MaxPool2d) -> None:
    assert layer_of_module(module, IMAGE) == layer


@pytest.mark.parametrize(
    "module",
    [nn.MaxPool2d(2, ceil_mode=True), nn.MaxPool2d(2, padding=1), nn.MaxPool2d(2, return_indices=True)],
    ids=str,
)
def test_other_modules_are_refused(module: nn.Module) -> None:
    with pytest.raises(UnsupportedLayer, match="windows inside the image"):
        layer_of_module(module, IMAGE)
    with pytest.raises(ShapeMismatch, match="do not fit"):
        MaxPool2d(IMAGE, (5, 1), (1, 1))
