"""A lower confidence limit of a mean of [0, 1] by betting against every smaller mean.

Against the mean m, a gambler who puts the share c of his capital on it multiplies it by 1 − c + c x/m for
each x: at a fair price if the mean is m, at a loss in expectation if it is smaller. Who starts with 1 has
1/β or more with probability at most β (Markov), so m is refuted if he does. The bets
c = min(1, κ √(m/(1 − m))) depend on nothing that was observed. Therefore

1. the limit does not depend on the order of the observations;
2. the capital grows with each x, so that lower bounds of the x may stand for them;
3. the capital falls as m grows, since c grows and c (1 − m)/m falls (a factor is linear in x, it is 1 − c
   at 0 and 1 + c (1 − m)/m at 1), so that the refuted means are an interval from 0.

κ = √(2 log(1/β)/n) would be best for large samples of the two values 0 and 1; `BETS` splits the capital
between it and a bolder one for samples that vary less (after Waudby-Smith and Ramdas, 2024, who let the bets
depend on the past, which 1 to 3 do not allow).
"""

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from fedcert_check.balls import ONE, ZERO
from fedcert_check.conclusions.rounding import ball

BETS = ((Fraction(3, 4), 1), (Fraction(1, 4), 3))
"""Shares of the capital at the start, and how many times κ each of them bets."""

BITS = 32
"""Of the limit: it lies at most 2^-32 below the best."""


def mean_limit(values: Sequence[arb], beta: Fraction) -> float:
    """A number that exceeds the mean of the population with probability at most β.

    Args:
        values: independent observations in [0, 1] or lower bounds of them, at least one.
        beta: β in (0, 1).

    >>> round(mean_limit([arb(1)] * 100, Fraction(1, 20)), 4)
    0.9705
    """
    refuted, open_ = 0, 2**BITS  # m = 1 never is: no capital grows
    while open_ - refuted > 1:
        middle = (refuted + open_) // 2
        if capital(values, Fraction(middle, 2**BITS), beta) >= 1 / ball(beta):  # not so if undecided
            refuted = middle
        else:
            open_ = middle
    return refuted / 2**BITS


def capital(values: Sequence[arb], mean: Fraction, beta: Fraction) -> arb:
    """What is left of 1 after betting against the mean.

    Args:
        values: the observations.
        mean: m in (0, 1).
        beta: β, which sets how bold the bets are.
    """
    m = ball(mean)
    boldness = (2 * -ball(beta).log() / len(values) * m / (1 - m)).sqrt()
    total = ZERO
    for share, times in BETS:
        stake = (times * boldness).min(ONE)
        kept, won = 1 - stake, stake / m
        grown = ball(share)
        for value in values:
            grown *= kept + won * value
        total += grown
    return total
