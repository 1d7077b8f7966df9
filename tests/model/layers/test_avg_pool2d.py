"""Means over windows: what is read from torch, and what is refused."""

import pytest
from torch import nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers import AvgPool2d
from fedcert.model.layers.registry import layer_of_module

IMAGE = (2, 4, 6)


@pytest.mark.parametrize(
    ("module", "layer"),
    [
        (nn.AvgPool2d(2), AvgPool2d(IMAGE, (2, 2), (2, 2))),
        (nn.AvgPool2d((2, 3), 1, 1), AvgPool2d(IMAGE, (2, 3), (1, 1), (1, 1))),
        (nn.AvgPool2d(2, count_include_pad=False), AvgPool2d(IMAGE, (2, 2), (2, 2))),
        (nn.AdaptiveAvgPool2d(1), AvgPool2d(IMAGE, (4, 6), (4, 6))),
        (nn.AdaptiveAvgPool2d((2, None)), AvgPool2d(IMAGE, (2, 1), (2, 1))),
    ],
    ids=str,
)
def test_modules_are_read(module: nn.Module, layer: AvgPool2d) -> None:
    assert layer_of_module(module, IMAGE) == layer


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.AvgPool2d(2, ceil_mode=True), "inside the padded image"),
        (nn.AvgPool2d(2, divisor_override=3), "divided by their size"),
        (nn.AvgPool2d(2, padding=1, count_include_pad=False), "padding that counts"),
        (nn.AdaptiveAvgPool2d(3), "windows of one size"),
    ],
    ids=str,
)
def test_other_modules_are_refused(module: nn.Module, words: str) -> None:
    with pytest.raises(UnsupportedLayer, match=words):
        layer_of_module(module, IMAGE)


def test_windows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeMismatch, match="do not fit"):
        AvgPool2d(IMAGE, (5, 1), (1, 1))
