"""Whether one drawn network is proven safe, or broken, for each property: cheap bounds first."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedcert_check.confidence.linear import Rows, affine_rows, carry_back, least
from fedcert_check.confidence.network import UPWARD, Layers, Range, between, ranges, relative_error, times
from fedcert_check.confidence.shared import SharedBounds
from fedcert_check.properties import Properties
from fedcert_check.validation import Array

UNDERFLOW = 2.0**-900


class Verdict(NamedTuple):
    """What is known of a network, one entry for each property.

    Attributes:
        proven: safe, for all parameters within the radius.
        broken: unsafe, for all parameters within the radius.
    """

    proven: Array
    broken: Array


def judge(layers: Layers, properties: Properties, shared: SharedBounds | None = None) -> Verdict:
    """Prove or break every property.

    Args:
        layers: of one network.
        properties: what is safe.
        shared: bounds of the networks judged before, for the same properties.
    """
    shared = shared or SharedBounds()
    with np.errstate(all="ignore"):
        shared.meet(layers)
        inputs = shared.intervals(between(properties.lower, properties.upper))
        proven = _last_layer(layers, inputs[-1], properties)
        broken = np.zeros_like(proven)
        rest = np.flatnonzero(~proven)
        if len(rest):
            some = _lines(layers, [own.take(rest) for own in inputs], subset(properties, rest))
            proven[rest], broken[rest] = some
        for p in np.flatnonzero(~(proven | broken)).tolist():
            one = subset(properties, np.array([p]))
            found = _lines(layers, shared.tightened(p, between(one.lower, one.upper)), one)
            proven[p], broken[p] = found.proven[0], found.broken[0]
    return Verdict(proven, broken)


def subset(properties: Properties, rows: Array) -> Properties:
    """Some of the properties."""
    return Properties(properties.lower[rows], properties.upper[rows], properties.C[rows], properties.d[rows])


def _holds(value: Array, error: Array) -> Array:
    """Whether all constraints of a property are proven; what is not finite proves nothing."""
    return np.asarray(((value >= error) & np.isfinite(value)).all(-1))


def _last_layer(layers: Layers, h: Range, properties: Properties) -> Array:
    """By intervals, with the constraints carried back through the last layer."""
    last = layers[-1]
    if last is None:
        return _holds(*_constraints(ranges([None], h)[-1], properties, len(layers)))
    relative = relative_error(h.centre.shape[1], len(layers))
    rows = affine_rows(last, h, Rows(properties.C, properties.d, relative * abs(properties.d)))
    return _holds(*least(rows, h, relative))


def _lines(layers: Layers, inputs: Sequence[Range], properties: Properties) -> Verdict:
    """By lines; what they do not prove is tried at the corner where they are least."""
    value, error, a = carry_back(layers, inputs, properties.C, properties.d)
    proven = _holds(value, error)
    worst = (value - error).argmin(-1)
    direction = a[np.arange(len(a)), worst]
    corner = np.where(direction > 0, properties.lower, properties.upper)
    return Verdict(proven, ~proven & breaks(layers, corner, properties))


def breaks(layers: Layers, x: Array, properties: Properties) -> Array:
    """Whether some constraint is negative at an input, for all parameters within the radius.

    Args:
        layers: of one network.
        x: an input of each region.
        properties: what is safe.
    """
    value, error = _constraints(ranges(layers, between(x, x))[-1], properties, len(layers))
    return np.asarray(((value < -error) & np.isfinite(value)).any(-1))


def _constraints(z: Range, properties: Properties, layers: int) -> tuple[Array, Array]:
    """C z + d, and a bound of what it is off by."""
    relative = relative_error(z.centre.shape[1], layers)
    value = times(properties.C, z.centre) + properties.d
    error = times(abs(properties.C), z.radius + relative * abs(z.centre)) + relative * abs(properties.d)
    return value, error * UPWARD + UNDERFLOW
