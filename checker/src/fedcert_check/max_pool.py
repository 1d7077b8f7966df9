"""Maxima over windows in ball arithmetic."""

from typing import NamedTuple

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, Interval, lower, upper, zeros
from fedcert_check.rectifier import Lines, through_lines
from fedcert_check.steps import Carried
from fedcert_check.validation import Array


class MaxPool(NamedTuple):
    """The greatest of some entries of h, for each window.

    Attributes:
        windows: the entries, of shape (m, K).
        inputs: the length of h.
    """

    windows: Array
    inputs: int

    @property
    def bends(self) -> bool:
        """It does."""
        return True

    @property
    def elementwise(self) -> bool:
        """It is not."""
        return False

    def image(self, h: Interval) -> Interval:
        """The maxima of both ends."""
        low, high = (np.maximum.reduce(end[self.windows], axis=1) for end in h)
        return Interval(low, high)

    def back(self, rows: Balls, h: Interval, rising: bool) -> Carried:
        """One entry h_j of each window stands for the maximum: h_j ≤ y ≤ max(h_j, m), m ≥ all others."""
        best = np.array([self._middle(h, own) for own in self.windows])
        pixel = self.windows[np.arange(len(best)), best]
        chosen = Interval(h.lower[pixel], h.upper[pixel])
        above = [
            _above(low, high, [h.upper[i] for k, i in enumerate(own) if k != j])
            for low, high, own, j in zip(*chosen, self.windows.tolist(), best.tolist(), strict=True)
        ]
        slopes, heights = (np.array(part, dtype=object) for part in zip(*above, strict=True))
        count = len(pixel)
        lines = Lines(np.full(count, ONE, dtype=object), zeros(count), slopes, heights)
        carried = through_lines(rows, lines, chosen)
        total = zeros(len(rows), self.inputs)
        for column, i in enumerate(pixel.tolist()):
            total[:, i] = total[:, i] + carried.coefficients.lower[:, column]
        return Carried(Interval(lower(total), upper(total)), carried.constant)

    @staticmethod
    def _middle(h: Interval, window: Array) -> int:
        """The entry whose bounds have the greatest middle."""
        middles = [(low + high).mid() for low, high in zip(h.lower[window], h.upper[window], strict=True)]
        return middles.index(max(middles))

    def tied(self, h: Interval) -> bool:
        """There is one line on either side."""
        return False


def _above(low: arb, high: arb, others: list[arb]) -> tuple[arb, arb]:
    """Slope and height of a line above max(a, m) on [l, u], which is convex: above it at both ends."""
    if all(other <= low for other in others):
        return ONE, ZERO
    most = max(others)
    if most >= high:
        return ZERO, most
    slope = ((high - most) / (high - low)).mid().max(ZERO).min(ONE)
    return slope, max((most - slope * low).upper(), (high - slope * high).upper())
