"""What a convolution sees of each part of its kernel's noise, against rational arithmetic."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
import torch
from balls import dyadic
from problems import normal, uniform

from fedcert.randomness import stream
from fedcert_check.balls import exact, matrix, zeros
from fedcert_check.image_layers import Conv2d, Grid
from fedcert_check.projected.dependent_convolution import DependentConvLayer
from fedcert_check.projected.kernel_parts import KernelPart, kernel_part, overlaps
from fedcert_check.projected.kronecker_part import KroneckerPart
from fedcert_check.projected.parts import BiasPart, DensePart, DiagonalPart, Part

FRACTIONS = np.vectorize(Fraction, otypes=[object])
LAYERS = {
    "plain": Conv2d(Grid((1, 3, 3), (2, 2), (1, 1)), 2, 1),
    "strided": Conv2d(Grid((2, 3, 3), (2, 2), (2, 1), (1, 0)), 2, 1),
    "grouped": Conv2d(Grid((2, 2, 3), (1, 2), (1, 1)), 4, 2),
    "dilated": Conv2d(Grid((1, 3, 4), (2, 2), (1, 1), (0, 1), (2, 2)), 1, 1),
}
KINDS = ("kronecker", "dense", "biases", "diagonal")


def dyadics(values: torch.Tensor) -> np.ndarray:
    return ((values * 16).round() / 16).numpy()


def part_of(layer: Conv2d, kind: str) -> tuple[Part, np.ndarray]:
    """A part, and its covariance."""
    generator, (weights, f) = stream(0, f"kernel parts {kind}"), layer.sizes
    K, n = weights // f, weights + f
    nothing = np.zeros((n, n), dtype=object) + Fraction(0)
    if kind == "kronecker":
        U, V = dyadics(normal(generator, f, f)), dyadics(normal(generator, K, K))
        D = dyadics(uniform(generator, f, K))
        factor = np.kron(FRACTIONS(U), FRACTIONS(V)) * FRACTIONS(D).reshape(-1)
        nothing[:weights, :weights] = factor @ factor.T
        return KroneckerPart(matrix(exact(U)), matrix(exact(V)), matrix(exact(D) ** 2)), nothing
    if kind == "biases":
        own = FRACTIONS(dyadics(normal(generator, f, 2)))
        nothing[weights:, weights:] = own @ own.T
        return BiasPart(K, exact((own @ own.T).astype(float))), nothing
    if kind == "dense":
        own = FRACTIONS(dyadics(normal(generator, n, 3)))
        return DensePart(f, exact((own @ own.T).astype(float))), own @ own.T
    scale = dyadics(uniform(generator, n))
    variance = exact(scale) ** 2
    part = DiagonalPart(variance[:weights].reshape(f, K), variance[weights:])
    return part, np.diag(FRACTIONS(scale) ** 2)


def coefficients(layer: Conv2d, B: np.ndarray, x: np.ndarray, biased: bool) -> np.ndarray:
    """Of each parameter in B·(W x + b), with or without b."""
    weights, biases = layer.sizes
    found = []
    for unit in np.eye(weights + biases):
        own = FRACTIONS(unit)
        W, b = layer.matrix(own[:weights], own[weights:], Fraction(0))
        found.append(B @ (W @ x + b * int(biased)))
    return np.array(found, dtype=object)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_variances_enclose_the_exact_ones(name: str, kind: str) -> None:
    layer = LAYERS[name]
    part, covariance = part_of(layer, kind)
    assert isinstance(kernel_part(part), KernelPart)
    weights, f = layer.sizes
    own = DependentConvLayer.of_parts(layer, zeros(f, weights // f), zeros(f), [part])
    rows, h = (
        dyadics(normal(stream(1, name), 2, layer.outputs)),
        dyadics(normal(stream(2, name), layer.inputs)),
    )
    at, single = own.at(exact(rows), exact(h)), own.deviations(exact(rows))
    steepest = own.steepest(exact(rows), exact(abs(h)))
    signs = dyadics(normal(stream(3, name), 6, layer.inputs).sign())
    for r, row in enumerate(FRACTIONS(rows)):

        def variance(x: np.ndarray, biased: bool, B: np.ndarray = row) -> Fraction:
            c = coefficients(layer, B, x, biased)
            return c @ covariance @ c

        assert (at[r] ** 2).contains(dyadic(variance(FRACTIONS(h), True)))
        for k, unit in enumerate(FRACTIONS(np.eye(layer.inputs))):
            assert (single[r, k] ** 2).contains(dyadic(variance(unit, False)))
        for sign in FRACTIONS(signs):
            assert (steepest[r] ** 2).upper() >= dyadic(variance(sign * abs(FRACTIONS(h)), False))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_one_position_is_the_same_layer(name: str, kind: str) -> None:
    layer = LAYERS[name]
    spans = [d * (k - 1) + 1 for d, k in zip(layer.grid.dilation, layer.grid.kernel, strict=True)]
    weights, f = layer.sizes
    own = DependentConvLayer.of_parts(layer, zeros(f, weights // f), zeros(f), [part_of(layer, kind)[0]]).on((
        layer.grid.image[0],
        spans[0],
        spans[1],
    ))
    alone = own.at_one_position()
    assert own.places == 1
    assert (alone is own) == (kind == "dense" or (layer.groups > 1 and kind == "kronecker"))
    rows, h = exact(dyadics(normal(stream(1, name), 2, own.outputs))), exact(np.ones(own.inputs))
    for mine, theirs in zip(alone.at(rows, h), own.at(rows, h), strict=True):
        assert mine.overlaps(theirs)


def test_every_pixel_is_seen_by_the_windows_that_overlap_it() -> None:
    layer = LAYERS["plain"]
    own = DependentConvLayer.of_parts(layer, zeros(2, 4), zeros(2), [])
    found = {place.pixel: len(place.positions) for place in overlaps(own)}
    assert found == {0: 1, 1: 2, 2: 1, 3: 2, 4: 4, 5: 2, 6: 1, 7: 2, 8: 1}
    assert prod(layer.grid.positions) * 4 == sum(found.values())
