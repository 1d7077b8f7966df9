"""Whether C f_θ(x) + d ≥ 0 for all parameters of a box and all inputs of a region, in ball arithmetic.

Three bounds, as docs/soundness.md (sections 3 and 6) derives them: intervals layer by layer; the same with C
merged into the last layer; and lines carried back from the constraints to the input. Each constraint may be
proven by any.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import assert_never

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, Interval, exact, lower, matmul, negative, positive, zeros
from fedcert_check.carrying import backward, place
from fedcert_check.image_layers import AvgPool2d, Conv2d, MaxPool2d
from fedcert_check.layers import LeakyReLU, Linear, Network, ReLU, Residual, Sigmoid, Single, Tanh
from fedcert_check.max_pool import MaxPool
from fedcert_check.properties import Properties
from fedcert_check.rectifier import Rectifier
from fedcert_check.s_shaped import SShaped
from fedcert_check.steps import Affine, Step, Sum, corner, least
from fedcert_check.validation import Array


def unflatten(network: Network, box: Interval) -> list[Step | Sum]:
    """The layers of a network with their parameters in a flat box."""
    ends = zip(network.matrices(box.lower, ZERO), network.matrices(box.upper, ZERO), strict=True)
    affine = iter([Affine(Interval(low, high), Interval(least, most)) for (low, least), (high, most) in ends])
    return [
        Sum(tuple(tuple(_single(own, affine) for own in chain) for chain in layer.chains))
        if isinstance(layer, Residual)
        else _single(layer, affine)
        for layer in network.layers
    ]


def _single(layer: Single, affine: Iterator[Affine]) -> Step:
    """A layer; one with parameters is the next of the affine ones."""
    match layer:
        case Linear() | Conv2d():
            return next(affine)
        case AvgPool2d():
            return _mean(layer)
        case MaxPool2d():
            return MaxPool(layer.windows(), layer.inputs)
        case ReLU():
            return Rectifier(ZERO)
        case LeakyReLU():
            return Rectifier(arb(layer.slope))
        case Tanh() | Sigmoid():
            return SShaped(isinstance(layer, Sigmoid))
        case _:
            assert_never(layer)


def _mean(layer: AvgPool2d) -> Affine:
    """Means as products with the number 1/K, within bounds."""
    share, mask = ONE / prod(layer.grid.kernel), layer.mask()
    low, high = zeros(*mask.shape), zeros(*mask.shape)
    low[mask], high[mask] = share.lower(), share.upper()
    nothing = zeros(layer.outputs)
    return Affine(Interval(low, high), Interval(nothing, nothing))


def proven(steps: Sequence[Step | Sum], properties: Properties, p: int) -> bool:
    """Whether every constraint of property p is proven for all parameters within bounds.

    Args:
        steps: the layers, with their parameters within bounds.
        properties: the properties.
        p: which of them.
    """
    x = Interval(exact(properties.lower[p]), exact(properties.upper[p]))
    C, d = exact(properties.C[p]), exact(properties.d[p])
    open_ = ~_holds(interval_margins(steps, x, C, d))
    if not open_.any() or steps[-1].bends:
        return not open_.any()
    for rising in (False, True):
        rows = np.flatnonzero(open_)
        margins, tied = linear_margins(steps, x, C[rows], d[rows], rising)
        open_[rows] = ~_holds(margins)
        if not open_.any() or not tied:
            break
    return not open_.any()


def _holds(margins: Balls) -> Array:
    return np.array([bool(v >= 0) for v in margins.tolist()], dtype=bool)


def interval_margins(steps: Sequence[Step | Sum], x: Interval, C: Balls, d: Balls) -> Balls:
    """Lower bounds of C f(x) + d from intervals, the greater of plain and merged."""
    *before, last = steps
    h = x
    for step in before:
        h = step.image(h)
    plain = lower(least(Interval(C, C), last.image(h)) + d)
    if not isinstance(last, Affine):
        return plain
    weight = Interval(corner(C, last.weight), -corner(-C, last.weight))
    bias = lower(matmul(positive(C), last.bias.lower) + matmul(negative(C), last.bias.upper) + d)
    return np.maximum(plain, lower(least(weight, h) + bias))


def linear_margins(
    steps: Sequence[Step | Sum], x: Interval, C: Balls, d: Balls, rising: bool
) -> tuple[Balls, bool]:
    """Lower bounds of C f(x) + d from lines carried back to the input.

    Args:
        steps: the layers.
        x: the region.
        C: the constraints.
        d: their offsets.
        rising: which line is taken where two are about as good.

    Returns:
        The bounds, and whether there were two such lines.
    """
    placed = place(steps, x, rising)
    return lower(backward(C, placed, rising) + d), any(own.tied for own in placed)
