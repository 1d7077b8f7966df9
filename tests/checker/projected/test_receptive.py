"""Patches in balls: what a position computes on its patch is what it computes on the image."""

import numpy as np
import pytest

from fedcert_check.balls import exact, zeros
from fedcert_check.image_layers import Conv2d, Grid
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.receptive import convolutions, local, on_patches, picked, tables

STACKS = [
    [
        Conv2d(Grid((1, 7, 6), (3, 2), (2, 1), (1, 1)), 2, 1),
        Conv2d(Grid((2, 4, 7), (2, 3), (1, 2), (1, 0), (2, 1)), 2, 1),
    ],
    [Conv2d(Grid((2, 5, 5), (2, 2), (1, 1)), 4, 2), Conv2d(Grid((4, 4, 4), (2, 2), (2, 2), (1, 1)), 2, 2)],
]


def whole_numbers(seed: int, *shape: int) -> np.ndarray:
    return exact(np.random.default_rng(seed).integers(-3, 4, shape).astype(float))


def layer(own: Conv2d, seed: int) -> ConvLayer:
    weights, filters = own.sizes
    kernel = whole_numbers(seed, filters, weights // filters)
    return ConvLayer(own, kernel, whole_numbers(seed + 1, filters), kernel * kernel, zeros(filters))


@pytest.mark.parametrize("stack", STACKS, ids=str)
def test_a_position_computes_on_its_patch_what_it_computes_on_the_image(stack: list[Conv2d]) -> None:
    layers = [layer(own, seed) for seed, own in enumerate(stack)]
    assert convolutions(layers) == layers
    x = whole_numbers(7, layers[0].inputs)
    hidden = layers[0].mean_at(x)
    hidden = np.where([v > 0 for v in hidden], hidden, zeros(len(hidden)))
    outputs = layers[1].mean_at(hidden)
    first, last = on_patches(layers)
    for pixels, neurons, own in zip(*tables(layers), strict=True):
        inside = first.mean_at(picked(x, pixels))
        inside = np.where(
            [(v > 0) & (n >= 0) for v, n in zip(inside, neurons, strict=True)], inside, zeros(1)
        )
        assert inside.tolist() == picked(hidden, neurons).tolist()
        assert last.mean_at(inside).tolist() == outputs[own].tolist()


@pytest.mark.parametrize("stack", STACKS, ids=str)
def test_a_kernel_is_the_matrix_of_all_its_neurons(stack: list[Conv2d]) -> None:
    for seed, own in enumerate(stack):
        made = layer(own, seed)
        matrix, offsets = own.matrix(made.kernel.ravel(), made.offsets, zeros(1)[0])
        rows, h = whole_numbers(8, 3, own.outputs), whole_numbers(9, own.inputs)
        assert made.product(rows).tolist() == (rows @ matrix).tolist()
        assert made.mean_at(h).tolist() == (matrix @ h + offsets).tolist()
        sizes = np.array([[abs(v) for v in row] for row in matrix], dtype=object)
        assert made.reach(h * h).tolist() == (sizes @ (h * h)).tolist()
        variances = own.matrix(made.variance.ravel(), made.offsets, zeros(1)[0])[0]
        squares = (rows * rows) @ variances
        found = made.deviations(rows)
        assert all((r * r).overlaps(v) for r, v in zip(found.ravel(), squares.ravel(), strict=True))


def test_what_does_not_follow_or_sees_all_is_not_local() -> None:
    small, large = (
        Conv2d(Grid((1, 4, 4), (2, 2), (1, 1)), 1, 1),
        Conv2d(Grid((1, 4, 4), (4, 4), (1, 1)), 1, 1),
    )
    assert local([small])
    assert not local([large])
    assert not local([small, small])
