"""E |m + r Z|, the mean of a folded normal, bounded in balls by a table of its excess over |m|.

With ν = |m|/r it is |m| + 2 r (φ(ν) − ν Q(ν)), and Q(ν) ≥ 2 φ(ν)/(ν + √(ν² + 4)), so that the excess is at
most r e(ν), e(ν) = 8 φ(ν)/(ν + √(ν² + 4))². That falls with ν: the value at any smaller ν bounds it.
"""

from functools import cache

import numpy as np
from flint import arb, ctx

from fedcert_check.balls import ZERO, Balls

STEPS_PER_UNIT = 2**10
LARGEST = 8  # beyond this many deviations the excess at 8 is taken
_TABLE_PRECISION = 128


@cache
def excess(step: int) -> arb:
    """A number above e(step / 2^10)."""
    with ctx.workprec(_TABLE_PRECISION):
        nu = arb(step) / STEPS_PER_UNIT
        density = (-nu * nu / 2).exp() / (2 * arb.pi()).sqrt()
        return (8 * density / (nu + (nu * nu + 4).sqrt()) ** 2).upper()


def folded_mean(mean: arb, deviation: arb) -> arb:
    """An upper bound of E |m + r Z|.

    Floating point only proposes the step: that ν is not smaller is verified.

    Args:
        mean: m.
        deviation: r ≥ 0.
    """
    size = abs(mean)
    if deviation == 0:
        return size
    step = _proposed(float(size.lower()), float(deviation.upper()))
    while step and not size * STEPS_PER_UNIT >= deviation * step:
        step //= 2
    return size + deviation * excess(step)


def _proposed(mean: float, deviation: float) -> int:
    """About the largest step of the table that is not beyond ν."""
    if not (mean > 0 and 0 < deviation < float("inf")):
        return 0
    return int(min(mean / deviation * (1 - 2.0**-40), LARGEST) * STEPS_PER_UNIT)


_each = np.frompyfunc(folded_mean, 2, 1)


def folded_means(mean: Balls, deviation: Balls) -> Balls:
    """Upper bounds of E |m + r Z|, entry by entry."""
    return np.asarray(_each(mean, deviation), dtype=object) if mean.size else mean + ZERO
