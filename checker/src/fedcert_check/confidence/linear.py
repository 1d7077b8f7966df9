"""Linear bounds of one drawn network, carried from rows of its outputs back to the input.

What is kept at the inputs h of each layer is rows · z ≥ a · h + value − charge. The coefficients a are the
exact numbers that the floats are; what rounding or the radius of the weights changes is charged against the
largest |h|.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedcert_check.confidence.network import (
    NEAR,
    UPWARD,
    Affine,
    Layers,
    Range,
    affine_range,
    between,
    relative_error,
    relu_range,
    times,
)
from fedcert_check.validation import Array

UNDERFLOW = 2.0**-1000
LOST = 2.0**-500  # more than underflow may have taken from a coefficient


class Rows(NamedTuple):
    """rows · z ≥ a · h + value − charge.

    Attributes:
        a: of shape (P, R, k).
        value: of shape (P, R).
        charge: what `value` may be too large by, up to the factor `UPWARD`.
    """

    a: Array
    value: Array
    charge: Array


class Chord(NamedTuple):
    """Lines around max(y, 0) on [l, u]: slope · y ≤ max(y, 0) ≤ slope · y + height.

    Attributes:
        slope: in [0, 1].
        height: at least 0; 0 if the sign of y is known.
        error: of the product of a slope and a coefficient of 1; 0 if the sign of y is known.
        steep: whether y is a better lower line than 0.
    """

    slope: Array
    height: Array
    error: Array
    steep: Array


def chord(y: Range) -> Chord:
    """The line through both ends; a rounded one is lifted until it lies above them."""
    low, high = y.low, y.high
    with np.errstate(all="ignore"):
        inclined = np.clip(high / (high - low), 0.0, 1.0)
    slope = np.where(low >= 0, 1.0, np.where(high <= 0, 0.0, inclined))
    known = (low >= 0) | (high <= 0)
    height = np.maximum(slope * -low, (1 - slope) * high) * (1 + NEAR) + UNDERFLOW
    error = NEAR * np.maximum(-low, high) + UNDERFLOW
    return Chord(slope, np.where(known, 0.0, height), np.where(known, 0.0, error), high > -low)


def relu_below(y: Range, rows: Rows) -> Rows:
    """From a bound in max(y, 0) to one in y: positive coefficients take 0 or y, negative ones the chord."""
    line, negative = chord(y), np.minimum(rows.a, 0.0)
    a = np.where(line.steep[:, None], np.maximum(rows.a, 0.0), 0.0) + negative * line.slope[:, None]
    lost = times(LOST - negative, line.height + line.error)
    return Rows(a, rows.value, rows.charge + lost)


def relu_around(y: Range, rows: Rows) -> Rows:
    """The same for value ± charge: max(y, 0) is within height/2 of slope · y + height/2."""
    line = chord(y)
    half = line.height / 2
    lost = times(abs(rows.a) + LOST, half + line.error)
    return Rows(rows.a * line.slope[:, None], rows.value + times(rows.a, half), rows.charge + lost)


def affine_rows(layer: Affine, h: Range, rows: Rows) -> Rows:
    """Rewrite a · (W h + b) as (a W) · h + a · b, off by ‖a‖₁ times the errors of W on |h| and of b."""
    size = abs(rows.a).sum(-1) + LOST
    each = layer.weight_error * h.total + layer.bias_error
    count, number, outputs = rows.a.shape
    a = (rows.a.reshape(count * number, outputs) @ layer.weight).reshape(count, number, -1)
    return Rows(a, rows.value + rows.a @ layer.bias, rows.charge + size * each[:, None])


def least(rows: Rows, x: Range, relative: float) -> tuple[Array, Array]:
    """The value at the centre, and a bound of what it exceeds the least value on the range by."""
    value = rows.value + times(rows.a, x.centre)
    spread = times(abs(rows.a) + LOST, x.radius + relative * abs(x.centre))
    return value, (rows.charge + spread) * UPWARD


def carry_back(layers: Layers, inputs: Sequence[Range], C: Array, d: Array) -> tuple[Array, Array, Array]:
    """C f(x) + d ≥ value − error on the region; and the coefficients of x.

    Args:
        layers: from the input on.
        inputs: bounds of the inputs of each layer.
        C: of shape (P, R, K).
        d: of shape (P, R).
    """
    relative = relative_error(inputs[0].centre.shape[1], len(layers))
    rows = Rows(C, d, relative * abs(d))
    for layer, h in zip(reversed(layers), reversed(inputs), strict=True):
        rows = relu_below(h, rows) if layer is None else affine_rows(layer, h, rows)
    value, error = least(rows, inputs[0], relative)
    return value, error, rows.a


def tightened(layers: Layers, x: Range, known: Sequence[Range] = ()) -> list[Range]:
    """Bounds of the inputs of each layer; those of ReLUs from both intervals and lines.

    Args:
        layers: from the input on.
        x: bounds of the input.
        known: what was found for the first layers, x included.
    """
    inputs = list(known) or [x]
    for place in range(len(inputs) - 1, len(layers) - 1):
        layer = layers[place]
        h = relu_range(inputs[-1]) if layer is None else affine_range(layer, inputs[-1])
        if layer is not None and place > 0 and layers[place + 1] is None:
            other = _neurons(layers[: place + 1], inputs, layer)
            h = between(np.fmax(h.low, other.low), np.fmin(h.high, other.high))
        inputs.append(h)
    return inputs


def _neurons(layers: Layers, inputs: Sequence[Range], last: Affine) -> Range:
    """Bounds of the outputs of the last of these layers."""
    relative = relative_error(inputs[0].centre.shape[1], len(layers))
    count = len(inputs[0].centre)
    each = last.weight_error * inputs[-1].total + last.bias_error
    rows = Rows(
        np.broadcast_to(last.weight, (count, *last.weight.shape)),
        np.broadcast_to(last.bias, (count, *last.bias.shape)),
        np.broadcast_to(each[:, None], (count, *last.bias.shape)),
    )
    for layer, h in zip(reversed(layers[:-1]), reversed(inputs[:-1]), strict=True):
        rows = relu_around(h, rows) if layer is None else affine_rows(layer, h, rows)
    value, error = least(rows, inputs[0], relative)
    return Range(value, error + NEAR * abs(value))
