"""tanh and the logistic function ½ + ½ tanh(x/2) in ball arithmetic."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, Interval, lower, positive, upper
from fedcert_check.rectifier import Lines, through_lines
from fedcert_check.steps import Carried

BISECTIONS = 40
SATURATED = 20.0  # no line from the left touches tanh beyond
MAX_INCLINED_WIDTH = arb(2) ** 20  # of bounds whose lines are not horizontal
MIN_SLOPE = arb(2) ** -500  # of a line that is not horizontal


class SShaped(NamedTuple):
    """tanh a; or, of `logistic`, ½ + ½ tanh(a/2)."""

    logistic: bool

    @property
    def bends(self) -> bool:
        """It does."""
        return True

    @property
    def elementwise(self) -> bool:
        """It is."""
        return True

    def image(self, h: Interval) -> Interval:
        """At both ends, rounded outward: the function rises."""
        function = _logistic if self.logistic else _tanh
        low, high = (np.array([function(v) for v in end.tolist()], dtype=object) for end in h)
        return Interval(positive(lower(low)) if self.logistic else lower(low), upper(high))

    def back(self, rows: Balls, h: Interval, rising: bool) -> Carried:
        """With a line in the function's place."""
        return through_lines(rows, self.lines(h), h)

    def tied(self, h: Interval) -> bool:
        """There is one line on either side."""
        return False

    def lines(self, h: Interval) -> Lines:
        """Those of tanh: s a + t ≤ tanh a for a = x/2 means (s/4) x + ½ + t/2 ≤ ½ + ½ tanh(x/2).

        Below, the line above the mirror image: tanh a = −tanh(−a).
        """
        scale = 2 if self.logistic else 1
        ends = [(low / scale, high / scale) for low, high in zip(*h, strict=True)]
        above = _columns([line_above(low, high) for low, high in ends])
        mirrored = _columns([line_above(-high, -low) for low, high in ends])
        if not self.logistic:
            return Lines(mirrored[0], -mirrored[1], *above)
        below = lower((1 - mirrored[1]) / 2)
        flat = np.array([bool(slope == 0) for slope in mirrored[0]])
        below[flat] = positive(below[flat])  # the function is not negative
        return Lines(mirrored[0] / 4, below, above[0] / 4, upper((1 + above[1]) / 2))


def _tanh(v: arb) -> arb:
    return v.tanh()


def _logistic(v: arb) -> arb:
    """1/(1 + exp(−v)) of an exact number; exp is taken of a negative one, which may be huge."""
    small = (-abs(v)).exp()
    return small / (1 + small) if v < 0 else 1 / (1 + small)


def _columns(lines: Sequence[tuple[arb, arb]]) -> tuple[Balls, Balls]:
    slopes, heights = (np.array(part, dtype=object) for part in zip(*lines, strict=True))
    return slopes, heights


def line_above(low: arb, high: arb) -> tuple[arb, arb]:
    """Slope s and height t of a line that lies above tanh on [l, u].

    tanh is convex up to 0, so tanh a − s a is at most its value at an end there. From 0 on it is concave and
    lies below its tangent at any b ≥ 0: tanh a − s a ≤ tanh b − s b + (tanh' b − s)(a − b), which is greatest
    at an end of [max(l, 0), u].

    Args:
        low: l, an exact number.
        high: u.
    """
    b = _touching(low, high)
    value = b.tanh()
    slope = (1 - value**2).mid()
    if low < 0 and b > low:
        slope = ((value - low.tanh()) / (b - low)).mid()
    slope = slope.max(ZERO).min(ONE)
    if not slope >= MIN_SLOPE or high - low > MAX_INCLINED_WIDTH:
        return ZERO, high.tanh().upper()
    heights = [(a.tanh() - slope * a).upper() for a in (low, high)]
    if high > 0:
        ends = [(1 - value**2 - slope) * (end - b) for end in (low.max(ZERO), high)]
        heights.append((value - slope * b + max(end.upper() for end in ends).max(ZERO)).upper())
    return slope, max(heights)


def _touching(low: arb, high: arb) -> arb:
    """A point of [l, u], not below 0 if u > 0: any will do, and the line through it is to be low."""
    if high <= 0:
        return high
    if low >= 0:
        return ((low + high) / 2).mid().max(low).min(high)
    start, left, right = float(low), 0.0, min(float(high), SATURATED)
    for _ in range(BISECTIONS):
        middle = (left + right) / 2
        value = math.tanh(middle)
        if value - math.tanh(start) >= (1 - value**2) * (middle - start):
            right = middle
        else:
            left = middle
    return arb(right).min(high)
