"""What the neurons of a convolution see, position by position (docs/soundness.md, section 15)."""

from collections.abc import Sequence
from math import prod

import numpy as np

from fedcert_check.balls import Balls, zeros
from fedcert_check.image_layers import Conv2d, Grid
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.validation import Array

Patch = tuple[int, int, int]
"""Channels, height and width."""


def convolutions(layers: Sequence[Layer | ConvLayer]) -> list[ConvLayer]:
    """The layers, if each is a convolution of the image that the one before computes; else none.

    None, too, if one position of the last sees as much as there is.
    """
    own = [layer for layer in layers if isinstance(layer, ConvLayer)]
    if len(own) < len(layers) or not local([layer.layer for layer in own]):
        return []
    return own


def local(layers: Sequence[Conv2d]) -> bool:
    """Whether each layer is on the image that the one before computes, and the last sees a part of each."""
    computed = [(layer.filters, *layer.grid.positions) for layer in layers[:-1]]
    if [layer.grid.image for layer in layers[1:]] != computed:
        return False
    seen = patches([layer.grid for layer in layers])
    return sum(map(prod, seen)) < sum(layer.inputs for layer in layers)


def patches(grids: Sequence[Grid]) -> list[Patch]:
    """What one position of the last grid sees of the inputs of each."""
    height = width = 1
    found: list[Patch] = []
    for grid in reversed(grids):
        height, width = (
            (n - 1) * step + dil * (k - 1) + 1
            for n, step, dil, k in zip((height, width), grid.stride, grid.dilation, grid.kernel, strict=True)
        )
        found.insert(0, (grid.image[0], height, width))
    return found


def on_patches(layers: Sequence[ConvLayer]) -> list[Layer]:
    """The layers on what one position of the last one sees; there its weights are independent."""
    seen = patches([layer.layer.grid for layer in layers])
    own = [layer.on(patch) for layer, patch in zip(layers, seen, strict=True)]
    return [*own[:-1], own[-1].at_one_position()]


def tables(layers: Sequence[ConvLayer]) -> list[Array]:
    """For each position of the last layer, which inputs of each layer it sees; −1 beyond the border.

    The last table names its own neurons.
    """
    last = layers[-1].layer
    corners = np.array(list(np.ndindex(last.grid.positions)))
    places = len(corners)
    found = [np.arange(last.filters) * places + np.arange(places)[:, None]]
    grids = [layer.layer.grid for layer in layers]
    for grid, patch in zip(reversed(grids), reversed(patches(grids)), strict=True):
        corners = corners * np.array(grid.stride) - np.array(grid.padding)
        found.insert(0, _pixels(grid.image, patch, corners))
    return found


def _pixels(image: Patch, patch: Patch, corners: Array) -> Array:
    channels, height, width = image
    rows = (corners[:, :1] + np.arange(patch[1]))[:, None, :, None]
    columns = (corners[:, 1:] + np.arange(patch[2]))[:, None, None, :]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    each = height * width * np.arange(channels)[:, None, None] + rows * width + columns
    return np.asarray(np.where(inside, each, -1)).reshape(len(corners), -1)


def picked(values: Balls, table: Array) -> Balls:
    """The values that a table names; 0 for −1."""
    return np.concatenate([values, zeros(1)])[table]
