"""One drawn network: its layers with a radius, and interval bounds of their inputs.

Everything here is floating point whose errors are charged. The product of floats a · w is the exact one with
other weights w̃, |w̃ − w| ≤ γ |w|, so the roundings of a product are charged together with the radius of the
drawn weights: `weight_error` and `bias_error` hold both. A convolution is the matrix of all its neurons; the
entries 1/K of a mean are rounded once, and `relative_error` has room for that.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from fedcert_check.image_layers import AvgPool2d, Conv2d
from fedcert_check.layers import Linear, Network, ReLU
from fedcert_check.validation import Array, require

UNIT = 2.0**-53
UPWARD = 1 + 2.0**-20  # more than the roundings of a sum of numbers that are not negative
NEAR = 2.0**-50  # more than a few roundings, relatively
LATER = 64  # roundings that a term may pass through after its own sum, beside four for each layer
FLOOR = 2.0**-150  # of an error: much more than underflow may lose


class Affine(NamedTuple):
    """y = W h + b.

    Attributes:
        weight: W, of shape (m, k).
        bias: b.
        weight_error: of every entry of W, with the roundings of a product.
        bias_error: of every entry of b, with the roundings of a sum.
    """

    weight: Array
    bias: Array
    weight_error: float
    bias_error: float


class Range(NamedTuple):
    """Numbers within a radius of their centre, one row for each property.

    Attributes:
        centre: of shape (P, k).
        radius: not negative; NaN bounds nothing.
    """

    centre: Array
    radius: Array

    @property
    def low(self) -> Array:
        """Lower bounds; the radius has room for this rounding."""
        return self.centre - self.radius

    @property
    def high(self) -> Array:
        """Upper bounds."""
        return self.centre + self.radius

    @property
    def total(self) -> Array:
        """Σ_j max |h_j|, rounded up, for each property."""
        return (abs(self.centre).sum(-1) + self.radius.sum(-1)) * UPWARD

    def take(self, rows: Array) -> "Range":
        """Some of the properties."""
        return Range(self.centre[rows], self.radius[rows])


Layers = Sequence[Affine | None]
"""From the input on; None for a ReLU."""


def relative_error(terms: int, layers: int) -> float:
    """More than γ for sums of so many terms, and for what their value is added to later."""
    roundings = 2 * (terms + 4 * layers + LATER)
    return roundings * UNIT / (1 - roundings * UNIT) * UPWARD


def layers_of(network: Network, centre: Array, radius: Array) -> Layers:
    """The layers of a drawn network.

    Args:
        network: its shape.
        centre: its parameters.
        radius: of each parameter.
    """
    known = all(isinstance(layer, Linear | Conv2d | AvgPool2d | ReLU) for layer in network.layers)
    require(known, "confidence bounds are checked for linear, conv2d, avg-pool2d and relu layers alone")
    count = len(network.layers)
    own = iter(zip(network.matrices(centre), network.matrices(radius), strict=True))
    found: list[Affine | None] = []
    for layer in network.layers:
        if isinstance(layer, ReLU):
            found.append(None)
            continue
        if isinstance(layer, AvgPool2d):
            mean = layer.mask() / prod(layer.grid.kernel), np.zeros(layer.outputs)
            (weight, bias), (weight_radius, bias_radius) = mean, (np.zeros(1), np.zeros(1))
        else:
            (weight, bias), (weight_radius, bias_radius) = next(own)
        relative = relative_error(max(weight.shape), count)
        errors = [
            float((off.max() + relative * abs(values).max()) * UPWARD + FLOOR)
            for values, off in ((weight, weight_radius), (bias, bias_radius))
        ]
        found.append(Affine(weight, bias, *errors))
    return found


def times(rows: Array, vector: Array) -> Array:
    """Rows times a vector: (…, R, k) and (…, k) give (…, R)."""
    product: Array = (rows @ vector[..., None])[..., 0]
    return product


def between(low: Array, high: Array) -> Range:
    """The numbers between two ends."""
    centre = (low + high) / 2
    radius = np.maximum(high - centre, centre - low)
    return Range(centre, radius + NEAR * (radius + abs(centre)))


def affine_range(layer: Affine, h: Range) -> Range:
    """Bounds of W h + b: W c + b is off by |W| r, by the errors of W on |c| + r, and by that of b."""
    centre = h.centre @ layer.weight.T + layer.bias
    spread = h.radius @ abs(layer.weight).T
    charge = layer.weight_error * h.total + layer.bias_error
    return Range(centre, (spread + charge[:, None]) * UPWARD + NEAR * abs(centre))


def relu_range(y: Range) -> Range:
    """Bounds of max(y, 0)."""
    return between(np.maximum(y.low, 0.0), np.maximum(y.high, 0.0))


def ranges(layers: Layers, x: Range, known: Sequence[Range] = ()) -> list[Range]:
    """Bounds of the inputs of every layer, and of the outputs of the last.

    Args:
        layers: from the input on.
        x: bounds of the input.
        known: what was found for the first layers, x included.
    """
    found = list(known) or [x]
    for layer in layers[len(found) - 1 :]:
        found.append(relu_range(found[-1]) if layer is None else affine_range(layer, found[-1]))
    return found
