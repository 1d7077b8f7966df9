"""What it takes to carry rows through convolutions, on whole images or on what one position sees."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from fedcert_check.cost.rates import ELEMENT_SECONDS, PRODUCT_SECONDS, STEP_SECONDS
from fedcert_check.image_layers import AvgPool2d, Conv2d
from fedcert_check.layers import Layer, Linear, Network, Sized
from fedcert_check.projected.affine_part import affine_layers
from fedcert_check.projected.receptive import local, patches

GATHERING = 1.5  # operations on what each window sees, when rows are carried through it
INPUT_OPERATIONS, OUTPUT_OPERATIONS = 10, 2  # on a coefficient of a row
FORM_OPERATIONS = 4  # on what a weight of the kernel is multiplied by
OWN_OPERATIONS = 8  # on a coefficient at one position
STEPS, NOISE_STEPS = 4, 2  # operations on arrays, however small: for each layer and each law of its noise
WINDOW_OPERATIONS = 24  # on an entry of the windows of an image, for all rows together
FEATURE_OPERATIONS = 12  # on an input of a fixed layer


def as_convolution(layer: Conv2d | AvgPool2d) -> Conv2d:
    """A convolution, or means over windows as one."""
    return layer.convolution if isinstance(layer, AvgPool2d) else layer


def row_seconds(layer: Conv2d, noises: int) -> float:
    """One row of all its neurons, carried back.

    Means, and if the weights are random their variances; forms in the weights are the noise lost while inputs
    move, and in two rows of three twice the noise at a reference.

    Args:
        layer: the convolution.
        noises: the number of laws of the noise of its weights, 0 for known ones.
    """
    places, (weights, _) = prod(layer.grid.positions), layer.sizes
    products, forms = (2, 1 + 4 * noises / 3) if noises else (1, 0.0)
    windows = places * weights // layer.filters * layer.groups
    elements = GATHERING * products * windows + FORM_OPERATIONS * forms * weights
    elements += INPUT_OPERATIONS * layer.inputs + OUTPUT_OPERATIONS * layer.outputs
    return (products + forms) * places * weights * PRODUCT_SECONDS + elements * ELEMENT_SECONDS


def window_seconds(layer: Conv2d) -> float:
    """What its windows see, for all rows together."""
    entries = prod(layer.grid.positions) * layer.sizes[0] // layer.filters * layer.groups
    return WINDOW_OPERATIONS * entries * ELEMENT_SECONDS + STEP_SECONDS


def local_convolutions(network: Network, depth: int) -> list[Conv2d]:
    """The layers up to this one, if each position of it is bounded on its own; else none."""
    layers = affine_layers(network)[: depth + 1]
    own = [as_convolution(layer) for layer in layers if not isinstance(layer, Linear)]
    return own if len(own) == depth + 1 and local(own) else []


def on_patches(layers: Sequence[Conv2d]) -> list[Conv2d]:
    """The layers on what one position of the last one sees."""
    seen = patches([layer.grid for layer in layers])
    return [
        replace(layer, grid=replace(layer.grid, image=patch, padding=(0, 0)))
        for layer, patch in zip(layers, seen, strict=True)
    ]


def position_seconds(layers: Sequence[Conv2d], noises: Sequence[int]) -> float:
    """The rows of the last layer's neurons at one position.

    Args:
        layers: up to the last.
        noises: of each, as in `row_seconds`.
    """
    last, inside = layers[-1], on_patches(layers)
    rows, steps = 3 * last.filters, STEPS * len(layers) + NOISE_STEPS * sum(noises)
    each = sum(
        rows * row_seconds(layer, own) + (1 + own) * window_seconds(layer)
        for layer, own in zip(inside[:-1], noises, strict=False)
    )
    products = (2 + noises[-1]) * last.filters * PRODUCT_SECONDS
    entries = rows * inside[-1].inputs * (products + OWN_OPERATIONS * ELEMENT_SECONDS)
    return each + entries + steps * STEP_SECONDS


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
