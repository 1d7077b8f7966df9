"""Rectifiers, leaky or not, in ball arithmetic."""

from typing import NamedTuple

import numpy as np
from flint import arb

from fedcert_check.balls import (
    ONE,
    ZERO,
    Balls,
    Interval,
    lower,
    matmul,
    middle,
    negative,
    positive,
    radius,
    size,
    upper,
)
from fedcert_check.steps import Carried

MAX_TIED_ASYMMETRY = arb(2) ** -30  # |l + u| / (u − l) up to which both lines below a ReLU are tried


class Lines(NamedTuple):
    """Lines around a function f of one number, neuron by neuron: s a + t ≤ f(a) ≤ s' a + t'.

    Attributes:
        slope_below: s.
        height_below: t.
        slope_above: s'.
        height_above: t'.
    """

    slope_below: Balls
    height_below: Balls
    slope_above: Balls
    height_above: Balls


class Rectifier(NamedTuple):
    """max(a, s a), with an exact s in [0, 1]: 0 for a ReLU."""

    slope: arb

    @property
    def bends(self) -> bool:
        """It does."""
        return True

    @property
    def elementwise(self) -> bool:
        """It is."""
        return True

    def image(self, h: Interval) -> Interval:
        """At both ends, rounded outward: the function does not decrease."""
        if self.slope == 0:
            return Interval(positive(h.lower), positive(h.upper))
        low, high = (positive(end) + self.slope * negative(end) for end in h)
        return Interval(lower(low), upper(high))

    def back(self, rows: Balls, h: Interval, rising: bool) -> Carried:
        """Where its coefficient is ≥ 0, f(a) ≥ a or f(a) ≥ σ a; where it is negative, f(a) ≤ s a + t."""
        return through_lines(rows, self.lines(h, rising), h)

    def tied(self, h: Interval) -> bool:
        """Whether a and σ a are about as good somewhere."""
        return any(_tied(low, high) for low, high in zip(*h, strict=True))

    def lines(self, h: Interval, rising: bool) -> Lines:
        """Above, s a + t with s in [σ, 1] and t ≥ max((σ − s) l, (1 − s) u, 0).

        Args:
            h: l and u.
            rising: which line below is taken where both are about as good: the one of slope 1 or the other.
        """
        found = [_lines(low, high, rising, self.slope) for low, high in zip(*h, strict=True)]
        return Lines(*(np.array(part, dtype=object) for part in zip(*found, strict=True)))


def _lines(low: arb, high: arb, rising: bool, leak: arb) -> tuple[arb, arb, arb, arb]:
    if low >= 0:
        return ONE, ZERO, ONE, ZERO
    if high <= 0:
        return leak, ZERO, leak, ZERO
    slope = ((high - leak * low) / (high - low)).mid()
    height = (((leak - slope) * low).upper().max(((1 - slope) * high).upper())).upper().max(ZERO)
    above_diagonal = rising if _tied(low, high) else high > -low
    return (ONE if above_diagonal else leak), ZERO, slope, height


def _tied(low: arb, high: arb) -> bool:
    return bool(low < 0) and bool(high > 0) and bool(abs(low + high) <= MAX_TIED_ASYMMETRY * (high - low))


def through_lines(rows: Balls, lines: Lines, h: Interval) -> Carried:
    """From a bound linear in f(a) to one linear in a, with a line in f's place.

    A product with a slope is a ball: its middle becomes the coefficient of a, its radius times the largest
    |a| is charged to the constant.

    Args:
        rows: A.
        lines: around f on the bounds.
        h: bounds of a.
    """
    rising, falling = positive(rows), negative(rows)
    raised, scaled = rising * lines.slope_below, falling * lines.slope_above
    largest = np.maximum(size(h.lower), size(h.upper))
    constant = matmul(falling, lines.height_above) - matmul(radius(scaled), largest)
    constant = constant + matmul(rising, lines.height_below) - matmul(radius(raised), largest)
    own = middle(raised) + middle(scaled)
    return Carried(Interval(own, own), constant)
