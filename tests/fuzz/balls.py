"""Exact arithmetic with balls of many digits, and normal probabilities with as many as are needed."""

import math
from collections.abc import Callable, Sequence

from balls import precision, tail
from flint import arb
from torch import Tensor

EXACT = 20_000  # bits: sums and products of a few floats, whatever their exponents


def balls(x: Tensor) -> list:
    """The exact numbers of a tensor, nested as its axes are."""
    return _balls(x.tolist())


def _balls(x: list | float) -> list | arb:
    return [_balls(part) for part in x] if isinstance(x, list) else arb(x)


def dot(a: Sequence[arb], b: Sequence[arb]) -> arb:
    return sum((x * y for x, y in zip(a, b, strict=True)), arb(0))


def norm(*x: arb) -> arb:
    """‖x‖."""
    return sum((v * v for v in x), arb(0)).sqrt()


def relu(x: arb) -> arb:
    return x if x > 0 else arb(0)


def exactly(x: arb) -> arb:
    """The number, if it was computed without any rounding: an oracle must not err."""
    if not x.is_exact():
        raise ArithmeticError("more bits are needed for an exact answer")
    return x


def sharply(x: arb) -> arb:
    """The number, if all that is not known of it is far below any float: quotients and functions included."""
    if not x.rad() < arb(2) ** -5000:
        raise ArithmeticError("more bits are needed for a sharp answer")
    return x


def accurate(value: Callable[[], arb], digits: int = 30) -> arb:
    """The value with so many digits at least, computed with ever more bits."""
    bits = 128
    while bits < 20_000:
        with precision(bits):
            ball = value()
            if ball.is_finite() and ball.rel_accuracy_bits() > 3.3 * digits:
                return ball
        bits *= 2
    return arb(0, math.inf)


def mass(a: arb, b: arb) -> arb:
    """Pr(a ≤ Z ≤ b), on the side of the mean where nothing cancels."""
    return tail(-b) - tail(-a) if a < 0 and b < 0 else tail(a) - tail(b)


def below(x: float, truth: arb) -> bool:
    """Whether a claimed lower bound is not above the truth; NaN and −inf claim nothing."""
    return math.isnan(x) or x == -math.inf or not arb(x) > truth


def above(x: float, truth: arb) -> bool:
    """Whether a claimed upper bound is not below the truth; NaN and inf claim nothing."""
    return math.isnan(x) or x == math.inf or not arb(x) < truth
