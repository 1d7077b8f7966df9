"""Lines that replace a ReLU in a backward pass (docs/soundness.md, 9.4), in balls."""

from dataclasses import dataclass

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls
from fedcert_check.projected.layers import largest
from fedcert_check.validation import Array


@dataclass(frozen=True)
class Lines:
    """below·a ≤ relu(a) ≤ slope·a + height, for all a that are possible on the events.

    Slopes and heights above may differ from row to row.

    Attributes:
        below: in [0, 1].
        slope: in [0, 1].
        height: at least 0.
    """

    below: Balls
    slope: Balls
    height: Balls

    @classmethod
    def over(cls, below: Array, slope: Array, sign: Array, low: Balls, high: Balls) -> "Lines":
        """The given slopes, with the least heights for pre-activations in [low, high].

        A neuron that is active or inactive is its own line, whatever slopes are given.
        """
        heights = [
            ZERO if s else largest(-arb(t) * lo, (1 - arb(t)) * hi, ZERO)
            for s, t, lo, hi in zip(sign.tolist(), slope.tolist(), low, high, strict=True)
        ]
        known = {1: ONE, -1: ZERO}
        lines = [
            [known.get(s, arb(t)) for s, t in zip(sign.tolist(), given.tolist(), strict=True)]
            for given in (below, slope)
        ]
        return cls(*(np.array(line, dtype=object) for line in (*lines, heights)))


def through_relu(coefficient: Balls, lines: Lines) -> tuple[Balls, Balls]:
    """Rows B and constants c with A·relu(a) ≥ B·a + c, by the sign of each coefficient."""
    rising, falling = parts(coefficient)
    return rising * lines.below + falling * lines.slope, (falling * lines.height).sum(-1)


def _positive_part(v: arb) -> arb:
    return v if v >= ZERO else ZERO if v <= ZERO else ZERO.union(v.upper())


rising_part = np.frompyfunc(_positive_part, 1, 1)


def parts(coefficient: Balls) -> tuple[Balls, Balls]:
    """max(A, 0) and min(A, 0)."""
    return np.asarray(rising_part(coefficient)), -np.asarray(rising_part(-coefficient))
