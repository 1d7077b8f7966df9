"""Lines above the ReLUs that may be exceeded, paid for on average (docs/soundness.md, 9.12), in balls.

For a line s a + t that is above relu at l ≤ 0 and at u ≥ 0, and all a,

    relu(a) ≤ s a + t + s (l − a)⁺ + (1 − s) (a − u)⁺,    E (l − Y)⁺ ≤ e^(K(λ) + λ l)/λ.
"""

from dataclasses import dataclass

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls
from fedcert_check.projected.layers import largest
from fedcert_check.projected.lines import Lines
from fedcert_check.validation import Array


@dataclass(frozen=True)
class Excess:
    """How far the neurons of a layer are beyond a threshold, on average: E (y − Y)⁺ ≤ e^(K + λ y)/λ.

    The first half of each table is of neurons from below, the second from above.

    Attributes:
        unknown: whether a neuron's sign is unknown; a line of any other holds.
        centre: from where thresholds are measured; any are valid.
        rate: λ.
        exponent: K(λ) of the neurons of unknown sign; None where it is not known to be finite.
    """

    unknown: Array
    centre: Array
    rate: Array
    exponent: list[arb | None]

    def lines(self, hard: Lines, reach: Array) -> tuple[Lines, Balls]:
        """The lines of each row, and what they are exceeded by on average.

        Args:
            hard: lines that hold on the events.
            reach: of each row, in units of 1/λ; 0 for lines that hold.
        """
        shape = (len(reach), len(self.unknown))
        slope, height = np.broadcast_to(hard.slope, shape).copy(), np.broadcast_to(hard.height, shape).copy()
        average = np.full(shape, ZERO, dtype=object)
        for r in np.flatnonzero(reach > 0):
            for k in np.flatnonzero(self.unknown):
                slope[r, k], height[r, k], average[r, k] = self._line(int(k), float(reach[r]))
        return Lines(hard.below, slope, height), average

    def _line(self, k: int, reach: float) -> tuple[arb, arb, arb]:
        """Slope, height and mean excess of one neuron's line."""
        over = len(self.unknown) + k
        low, high = self._threshold(k, reach), -self._threshold(over, reach)
        slope = arb(min(1.0, max(0.0, high / (high - low)))) if high > low else ONE
        height = largest(-slope * low, (1 - slope) * high, ZERO)
        excess = slope * self._beyond(k, arb(low)) + (1 - slope) * self._beyond(over, arb(-high))
        return slope, height, excess

    def _threshold(self, side: int, reach: float) -> float:
        """A number that is at most 0; any is valid."""
        centre, rate = float(self.centre[side]), float(self.rate[side])
        return min(0.0, centre - reach / rate) if rate > 0 else 0.0

    def _beyond(self, side: int, at: arb) -> arb:
        """E (y − Y)⁺."""
        K, rate = self.exponent[side], arb(float(self.rate[side]))
        return arb("inf") if K is None else (K + rate * at).exp() / rate


def price_of_excess(average: arb, deviation: arb) -> arb:
    """E T / (√(2π) s) for the deviation s of the last layer's noise, from below; 0 where T is 0."""
    if average == 0:
        return ZERO
    return average / ((2 * arb.pi()).sqrt() * deviation) if deviation > 0 else arb("inf")
