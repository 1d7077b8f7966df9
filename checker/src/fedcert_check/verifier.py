"""Whether C f_θ(x) + d ≥ 0 for all parameters of a box and all inputs of a region, in ball arithmetic.

Three bounds, as docs/soundness.md (sections 3 and 6) derives them: intervals layer by layer; the same with C
merged into the last layer; and lines carried back from the constraints to the input. Each constraint may be
proven by any.
"""

from collections.abc import Sequence
from math import prod
from typing import assert_never

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, Interval, exact, lower, matmul, negative, positive, zeros
from fedcert_check.image_layers import AvgPool2d, Conv2d, MaxPool2d
from fedcert_check.layers import LeakyReLU, Linear, Network, ReLU, Sigmoid, Tanh
from fedcert_check.max_pool import MaxPool
from fedcert_check.properties import Properties
from fedcert_check.rectifier import Rectifier
from fedcert_check.s_shaped import SShaped
from fedcert_check.steps import Affine, Step, corner, least, settle
from fedcert_check.validation import Array


def unflatten(network: Network, box: Interval) -> list[Step]:
    """The layers of a network with their parameters in a flat box."""
    ends = zip(network.matrices(box.lower, ZERO), network.matrices(box.upper, ZERO), strict=True)
    affine = iter(Affine(Interval(low, high), Interval(least, most)) for (low, least), (high, most) in ends)
    steps: list[Step] = []
    for layer in network.layers:
        match layer:
            case Linear() | Conv2d():
                steps.append(next(affine))
            case AvgPool2d():
                steps.append(_mean(layer))
            case MaxPool2d():
                steps.append(MaxPool(layer.windows(), layer.inputs))
            case ReLU():
                steps.append(Rectifier(ZERO))
            case LeakyReLU():
                steps.append(Rectifier(arb(layer.slope)))
            case Tanh() | Sigmoid():
                steps.append(SShaped(isinstance(layer, Sigmoid)))
            case _:
                assert_never(layer)
    return steps


def _mean(layer: AvgPool2d) -> Affine:
    """Means as products with the number 1/K, within bounds."""
    share, mask = ONE / prod(layer.grid.kernel), layer.mask()
    low, high = zeros(*mask.shape), zeros(*mask.shape)
    low[mask], high[mask] = share.lower(), share.upper()
    nothing = zeros(layer.outputs)
    return Affine(Interval(low, high), Interval(nothing, nothing))


def proven(steps: Sequence[Step], properties: Properties, p: int) -> bool:
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


def interval_margins(steps: Sequence[Step], x: Interval, C: Balls, d: Balls) -> Balls:
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
    steps: Sequence[Step], x: Interval, C: Balls, d: Balls, rising: bool
) -> tuple[Balls, bool]:
    """Lower bounds of C f(x) + d from lines carried back to the input.

    Bounds in front of a layer that bends are the tighter of interval and backward ones; after a single
    layer, or a function of one number, intervals are as good.

    Args:
        steps: the layers.
        x: the region.
        C: the constraints.
        d: their offsets.
        rising: which line is taken where two are about as good.

    Returns:
        The bounds, and whether there were two such lines.
    """
    inputs: list[Interval] = []
    h, tied = x, False
    for place, step in enumerate(steps):
        if step.bends and place > 1 and not steps[place - 1].elementwise:
            unit = exact(np.eye(len(h.lower)))
            rows = np.concatenate([unit, -unit])
            low, high = np.split(backward(rows, steps[:place], inputs, rising), 2)
            h = Interval(np.maximum(h.lower, low), np.minimum(h.upper, -high))
        inputs.append(h)
        tied = tied or step.tied(h)
        h = step.image(h)
    return lower(backward(C, steps, inputs, rising) + d), tied


def backward(rows: Balls, steps: Sequence[Step], inputs: Sequence[Interval], rising: bool) -> Balls:
    """Lower bounds of A z for the last layer's outputs z.

    Args:
        rows: A.
        steps: the layers.
        inputs: bounds of the inputs of each.
        rising: which line is taken where two are about as good.
    """
    constant = zeros(len(rows))
    for place in reversed(range(len(steps))):
        carried = steps[place].back(rows, inputs[place], rising)
        constant = constant + carried.constant
        if place > 0:
            rows, lost = settle(carried.coefficients, inputs[place])
            constant = constant - lost
    return lower(constant + least(carried.coefficients, inputs[0]))
