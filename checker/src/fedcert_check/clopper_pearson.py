"""Exact confidence limits of a share, from a count: Clopper and Pearson, in ball arithmetic.

Of n independent draws, X fell into a set of probability p. The lower limit at level α is the largest p with
Pr(X ≥ k) ≤ α, and Pr(X ≥ k) = I_p(k, n − k + 1) grows with p (I is the regularised incomplete beta
function). Whatever the true p, the limit of the observed count exceeds it with probability at most α. So does
every smaller number: a float p is a sound limit as soon as balls show I_p(k, n − k + 1) ≤ α, however p was
found.
"""

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx, fmpq

from fedcert_check.balls import PRECISION, float_down, float_up

STEPS = 60
CLOSE = 2.0**-44
"""The search ends when a step changes a limit by less than this, relatively."""


def clopper_pearson_lower(successes: int, draws: int, alpha: float | Fraction) -> float:
    """A number that exceeds Pr(success) with probability at most α, rounded down.

    Args:
        successes: k, the number of draws that are known to have succeeded.
        draws: n ≥ 1, fixed before the draws were made.
        alpha: α in (0, 1); a float stands for the number that it is.

    >>> clopper_pearson_lower(0, 100, 0.05)
    0.0
    >>> round(clopper_pearson_lower(100, 100, 0.05), 6)
    0.970487
    """
    _check(successes, draws, alpha)
    return _limit(successes, draws, Fraction(alpha))


def clopper_pearson_upper(successes: int, draws: int, alpha: float | Fraction) -> float:
    """A number that falls below Pr(success) with probability at most α, rounded up.

    Args:
        successes: k, the number of draws that may have succeeded.
        draws: n ≥ 1, fixed before the draws were made.
        alpha: α in (0, 1); a float stands for the number that it is.

    >>> clopper_pearson_upper(100, 100, 0.05)
    1.0
    >>> round(clopper_pearson_upper(0, 100, 0.05), 6)
    0.029513
    """
    _check(successes, draws, alpha)
    failing = _limit(draws - successes, draws, Fraction(alpha))
    with ctx.workprec(PRECISION):
        return float_up(1 - arb(failing))


def _check(successes: int, draws: int, alpha: float | Fraction) -> None:
    if not 0 <= successes <= draws or draws < 1:
        raise ValueError(f"{successes} successes of {draws} draws: expected 0 to {max(draws, 1)}")
    if not 0 < alpha < 1:
        raise ValueError(f"a level of {alpha}: it must lie strictly between 0 and 1")


@lru_cache(maxsize=65536)
def _limit(k: int, n: int, alpha: Fraction) -> float:
    """A float p ≥ 0 with I_p(k, n − k + 1) ≤ α, proven, and close to the largest."""
    if k == 0:
        return 0.0
    with ctx.workprec(PRECISION):
        level = arb(fmpq(alpha.numerator, alpha.denominator))
        if k == n:
            return max(0.0, float_down(level.root(n)))
        p, step = _search(k, n, level), 2.0**-52
        while p > 0 and not _tail(p, k, n) <= level:  # also where the ball is not finite
            p, step = max(0.0, p * (1 - step)), 2 * step
        return p


def _search(k: int, n: int, level: arb) -> float:
    """About the largest p with I_p(k, n − k + 1) ≤ α, by Newton's method for log I as a function of log p.

    That function is concave: its slope p I'_p / I_p = 1 / ∫_0^1 s^(k−1) ((1 − s p)/(1 − p))^(n−k) ds falls
    with p. So every step after the first is to the right and stays left of the solution.
    """
    p = k / n
    for _ in range(STEPS):
        tail = _tail(p, k, n)
        slope = _density(p, k, n) * p / tail
        shift = float((tail / level).log() / slope)
        if not math.isfinite(shift):
            return p
        p, before = min(p * math.exp(-shift), 1 - 2.0**-53), p
        if abs(p - before) <= CLOSE * p:
            break
    return p


def _tail(p: float, k: int, n: int) -> arb:
    """Pr(X ≥ k) for X binomial with n draws and probability p."""
    return arb(p).beta_lower(k, n - k + 1, True)


def _density(p: float, k: int, n: int) -> arb:
    """The derivative of `_tail`: n!/((k−1)! (n−k)!) p^(k−1) (1 − p)^(n−k)."""
    q = arb(p)
    log = arb(n + 1).lgamma() - arb(k).lgamma() - arb(n - k + 1).lgamma()
    return (log + (k - 1) * q.log() + (n - k) * (1 - q).log()).exp()
