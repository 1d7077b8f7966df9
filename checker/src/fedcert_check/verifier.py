"""Whether C f_θ(x) + d ≥ 0 for all parameters of a box and all inputs of a region, in ball arithmetic.

Three bounds, as docs/soundness.md (sections 3 and 6) derives them: intervals layer by layer; the same with C
merged into the last layer; and lines carried back from the constraints to the input. Each constraint may be
proven by any. All end points are exact numbers, rounded outward to 128 bits after each step.
"""

from collections.abc import Sequence
from typing import NamedTuple, assert_never

import numpy as np
from flint import arb

from fedcert_check.balls import (
    ONE,
    ZERO,
    Balls,
    Interval,
    exact,
    lower,
    matmul,
    middle,
    negative,
    positive,
    radius,
    size,
    upper,
    zeros,
)
from fedcert_check.layers import LeakyReLU, Linear, Network, ReLU
from fedcert_check.properties import Properties
from fedcert_check.validation import Array

MAX_TIED_ASYMMETRY = arb(2) ** -30  # |l + u| / (u − l) up to which both lines below a ReLU are tried


class Affine(NamedTuple):
    """The parameters of W h + b within bounds: W of shape (m, k), b of shape (m,)."""

    weight: Interval
    bias: Interval


class Rectifier(NamedTuple):
    """max(a, s a), with an exact s in [0, 1]: 0 for a ReLU."""

    slope: arb


Layer = Affine | Rectifier


def unflatten(network: Network, box: Interval) -> list[Layer]:
    """The parameters of each layer, of a flat box, and the slopes of the ReLUs."""
    ends = zip(network.matrices(box.lower), network.matrices(box.upper), strict=True)
    affine = iter(Affine(Interval(low, high), Interval(least, most)) for (low, least), (high, most) in ends)
    layers: list[Layer] = []
    for layer in network.layers:
        match layer:
            case Linear():
                layers.append(next(affine))
            case ReLU():
                layers.append(Rectifier(ZERO))
            case LeakyReLU():
                layers.append(Rectifier(arb(layer.slope)))
            case _:
                assert_never(layer)
    return layers


def proven(layers: Sequence[Layer], properties: Properties, p: int) -> bool:
    """Whether every constraint of property p is proven for all parameters within bounds.

    Args:
        layers: the parameters of each layer, and the slopes of the ReLUs.
        properties: the properties.
        p: which of them.
    """
    x = Interval(exact(properties.lower[p]), exact(properties.upper[p]))
    C, d = exact(properties.C[p]), exact(properties.d[p])
    open_ = ~_holds(interval_margins(layers, x, C, d))
    alternating = all(isinstance(layer, Affine) == (i % 2 == 0) for i, layer in enumerate(layers))
    if not open_.any() or not alternating or isinstance(layers[-1], Rectifier):
        return not open_.any()
    affine = [layer for layer in layers if isinstance(layer, Affine)]
    slopes = [layer.slope for layer in layers if isinstance(layer, Rectifier)]
    for rising in (False, True):
        rows = np.flatnonzero(open_)
        margins, tied = linear_margins(affine, slopes, x, C[rows], d[rows], rising)
        open_[rows] = ~_holds(margins)
        if not open_.any() or not tied:
            break
    return not open_.any()


def _holds(margins: Balls) -> Array:
    return np.array([bool(v >= 0) for v in margins.tolist()], dtype=bool)


def interval_margins(layers: Sequence[Layer], x: Interval, C: Balls, d: Balls) -> Balls:
    """Lower bounds of C f(x) + d from intervals, the greater of plain and merged."""
    h = x
    for layer in layers[:-1]:
        h = rectify(h, layer.slope) if isinstance(layer, Rectifier) else image(layer, h)
    last = layers[-1]
    z = rectify(h, last.slope) if isinstance(last, Rectifier) else image(last, h)
    plain = lower(least(Interval(C, C), z) + d)
    if isinstance(last, Rectifier):
        return plain
    weight = Interval(corner(C, last.weight), -corner(-C, last.weight))
    bias = lower(matmul(positive(C), last.bias.lower) + matmul(negative(C), last.bias.upper) + d)
    return np.maximum(plain, lower(least(weight, h) + bias))


def rectify(x: Interval, slope: arb) -> Interval:
    """max(x, s x), which does not decrease: at both ends, rounded outward."""
    if slope == 0:
        return Interval(positive(x.lower), positive(x.upper))
    low, high = (positive(end) + slope * negative(end) for end in x)
    return Interval(lower(low), upper(high))


def image(layer: Affine, h: Interval) -> Interval:
    """Bounds of W h + b."""
    low = least(layer.weight, h) + layer.bias.lower
    high = layer.bias.upper - least(-layer.weight, h)
    return Interval(lower(low), upper(high))


def least(weight: Interval, x: Interval) -> Balls:
    """The least W x, row by row: Σ_k of the least product of w_k and x_k.

    That is w̲⁺x̲⁺ + w̲⁻x̄⁺ + w̄⁺x̲⁻ + w̄⁻x̄⁻, and where w and x both straddle zero only one of the second and third
    terms counts, so the smaller in absolute value is given back.
    """
    value = matmul(positive(weight.lower), positive(x.lower))
    value = value + matmul(negative(weight.lower), positive(x.upper))
    signed = np.array([bool(v < 0) for v in x.lower.tolist()])
    if signed.any():
        value = value + matmul(positive(weight.upper), negative(x.lower))
        value = value + matmul(negative(weight.upper), negative(x.upper))
        one = -negative(weight.lower[:, signed]) * positive(x.upper[signed])
        other = positive(weight.upper[:, signed]) * -negative(x.lower[signed])
        value = value + np.minimum(lower(one), lower(other)).sum(1)
    return lower(value)


def corner(rows: Balls, weight: Interval) -> Balls:
    """The least A W, entry by entry: A⁺W̲ + A⁻W̄."""
    return lower(matmul(positive(rows), weight.lower) + matmul(negative(rows), weight.upper))


def linear_margins(
    layers: Sequence[Affine], slopes: Sequence[arb], x: Interval, C: Balls, d: Balls, rising: bool
) -> tuple[Balls, bool]:
    """Lower bounds of C f(x) + d from lines carried back to the input.

    Args:
        layers: the linear layers, with a ReLU between any two.
        slopes: s of each ReLU max(a, s a).
        x: the region.
        C: the constraints.
        d: their offsets.
        rising: which line below a ReLU is taken where both are about as good: a or 0.

    Returns:
        The bounds, and whether there was such a ReLU.
    """
    hidden: list[Interval] = []
    h = x
    for depth, layer in enumerate(layers[:-1]):
        bounds = image(layer, h)
        if depth > 0:
            unit = exact(np.eye(len(layer.bias.lower)))
            rows = np.concatenate([unit, -unit])
            low, high = np.split(backward(rows, layers[: depth + 1], slopes, hidden, x, rising), 2)
            bounds = Interval(np.maximum(bounds.lower, low), np.minimum(bounds.upper, -high))
        hidden.append(bounds)
        h = rectify(bounds, slopes[depth])
    tied = any(_tied(low, high) for own in hidden for low, high in zip(*own, strict=True))
    return lower(backward(C, layers, slopes, hidden, x, rising) + d), tied


def backward(
    rows: Balls,
    layers: Sequence[Affine],
    slopes: Sequence[arb],
    hidden: Sequence[Interval],
    x: Interval,
    rising: bool,
) -> Balls:
    """Lower bounds of A z for the last layer's outputs z, with a line in place of every ReLU.

    Let f(a) = max(a, σ a). Where its coefficient c is ≥ 0, f(a) ≥ a or f(a) ≥ σ a; where it is negative,
    f(a) ≤ s a + t with s in [σ, 1] and t ≥ max((σ − s) l, (1 − s) u, 0). A product with a slope is a ball:
    its middle becomes the coefficient of a, its radius times the largest |a| is charged to the constant.
    """
    constant = zeros(len(rows))
    for depth in reversed(range(1, len(layers))):
        weight, bias = layers[depth]
        constant = constant + _at_corner(rows, bias)
        low = corner(rows, weight)
        below, slope, height = relax(hidden[depth - 1], rising, slopes[depth - 1])
        falling = negative(low)
        scaled, raised = falling * slope, positive(low) * below
        largest = np.maximum(size(hidden[depth - 1].lower), size(hidden[depth - 1].upper))
        constant = constant + matmul(falling, height) - matmul(radius(scaled), largest)
        if not slopes[depth - 1] == 0:  # noqa: SIM201 - a product with 0 or 1 is exact
            constant = constant - matmul(radius(raised), largest)
        rows = middle(raised) + middle(scaled)
    weight, bias = layers[0]
    coefficients = Interval(corner(rows, weight), -corner(-rows, weight))
    return lower(constant + _at_corner(rows, bias) + least(coefficients, x))


def _at_corner(rows: Balls, bias: Interval) -> Balls:
    value: Balls = matmul(positive(rows), bias.lower) + matmul(negative(rows), bias.upper)
    return value


def relax(bounds: Interval, rising: bool, leak: arb = ZERO) -> tuple[Balls, Balls, Balls]:
    """For each ReLU with a in [l, u]: the slope of a line below, and slope s and height t of one above.

    Args:
        bounds: l and u.
        rising: which line below is taken where both are about as good: the one of slope 1 or the other.
        leak: σ of max(a, σ a).
    """
    lines = [_lines(low, high, rising, leak) for low, high in zip(*bounds, strict=True)]
    below, slope, height = (np.array(part, dtype=object) for part in zip(*lines, strict=True))
    return below, slope, height


def _lines(low: arb, high: arb, rising: bool, leak: arb) -> tuple[arb, arb, arb]:
    if low >= 0:
        return ONE, ONE, ZERO
    if high <= 0:
        return leak, leak, ZERO
    slope = ((high - leak * low) / (high - low)).mid()
    height = (((leak - slope) * low).upper().max(((1 - slope) * high).upper())).upper().max(ZERO)
    above_diagonal = rising if _tied(low, high) else high > -low
    return (ONE if above_diagonal else leak), slope, height


def _tied(low: arb, high: arb) -> bool:
    return bool(low < 0) and bool(high > 0) and bool(abs(low + high) <= MAX_TIED_ASYMMETRY * (high - low))
