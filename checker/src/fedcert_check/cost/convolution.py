"""What it takes to carry rows through convolutions, on whole images or on what one position sees."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from fedcert_check.cost.rates import ELEMENT_SECONDS, PRODUCT_SECONDS, STEP_SECONDS
from fedcert_check.image_layers import AvgPool2d, Conv2d
from fedcert_check.layers import Layer, Linear, Network, Sized
from fedcert_check.projected.affine_part import affine_layers
from fedcert_check.projected.receptive import local, patches

PRODUCTS = 4  # of a row with the kernel: means, variances and squares, in forms and in movements
FORMS = 4  # of a row with what the windows see
OPERATIONS = 4  # on an entry of either
STEPS = 15  # operations on arrays, however small, for each layer that a position sees
WINDOW_OPERATIONS = 24  # on an entry of the windows of an image, for all rows together
FEATURE_OPERATIONS = 12  # on an input of a fixed layer


def as_convolution(layer: Conv2d | AvgPool2d) -> Conv2d:
    """A convolution, or means over windows as one."""
    return layer.convolution if isinstance(layer, AvgPool2d) else layer


def row_seconds(layer: Conv2d) -> float:
    """One row of all its neurons, carried back."""
    places, (weights, _) = prod(layer.grid.positions), layer.sizes
    products = (PRODUCTS + FORMS) * places * weights
    entries = PRODUCTS * places * weights // layer.filters * layer.groups + FORMS * weights
    elements = OPERATIONS * (entries + PRODUCTS * (layer.inputs + layer.outputs))
    return products * PRODUCT_SECONDS + elements * ELEMENT_SECONDS


def window_seconds(layer: Conv2d) -> float:
    """What its windows see, for all rows together."""
    entries = prod(layer.grid.positions) * layer.sizes[0] // layer.filters * layer.groups
    return WINDOW_OPERATIONS * entries * ELEMENT_SECONDS + STEP_SECONDS


def local_convolutions(network: Network, depth: int) -> list[Conv2d]:
    """The layers up to this one, if each position of it is bounded on its own; else none."""
    layers = affine_layers(network)[: depth + 1]
    own = [as_convolution(layer) for layer in layers if not isinstance(layer, Linear)]
    return own if len(own) == depth + 1 and local(own) else []


def position_seconds(layers: Sequence[Conv2d], clients: int) -> float:
    """The rows of the last layer's neurons at one position."""
    last, seen = layers[-1], patches([layer.grid for layer in layers])
    rows, steps = 3 * last.filters, STEPS * len(layers) * (1 + clients) * STEP_SECONDS
    inside = [
        replace(layer, grid=replace(layer.grid, image=patch, padding=(0, 0)))
        for layer, patch in zip(layers, seen, strict=True)
    ]
    each = sum(rows * row_seconds(layer) + window_seconds(layer) for layer in inside[:-1])
    own = rows * prod(seen[-1]) * (last.filters * PRODUCT_SECONDS + OPERATIONS * PRODUCTS * ELEMENT_SECONDS)
    pixels = rows * prod(seen[0]) * OPERATIONS * PRODUCTS * ELEMENT_SECONDS
    return (1 + clients) * (each + own + pixels) + steps


def feature_seconds(layers: Sequence[Layer]) -> float:
    """Bounds of the outputs of fixed layers."""
    seconds = 0.0
    for layer in layers:
        if isinstance(layer, Linear):
            seconds += layer.sizes[0] * (2 * PRODUCT_SECONDS + FEATURE_OPERATIONS * ELEMENT_SECONDS)
        elif isinstance(layer, Conv2d | AvgPool2d):
            own = as_convolution(layer)
            seconds += window_seconds(own) + 2 * prod(own.grid.positions) * own.sizes[0] * PRODUCT_SECONDS
    sizes = [layer.inputs + layer.outputs for layer in layers if isinstance(layer, Sized)]
    return seconds + FEATURE_OPERATIONS * ELEMENT_SECONDS * sum(sizes)
