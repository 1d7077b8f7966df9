"""Ball arithmetic on arrays: exact numbers from floats, outward end points, Gaussian masses.

An array is a numpy array of `arb` balls. A ball encloses a real number; `lower` and `upper` are its ends,
exact numbers themselves, of which every comparison is decided. All of it is python-flint's, at `PRECISION`
bits (`parallel.py` sets them).
"""

import math
from collections.abc import Callable, Sequence
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat, ctx, fmpz

from fedcert_check.errors import InvalidCertificate

PRECISION = 128
Balls = np.ndarray[Any, np.dtype[np.object_]]

ZERO, ONE = arb(0), arb(1)
with ctx.workprec(4 * PRECISION):
    ROOT_HALF = (arb(1) / 2).sqrt()


class Interval(NamedTuple):
    """Arrays of exact lower and upper ends."""

    lower: Balls
    upper: Balls

    def __neg__(self) -> "Interval":
        return Interval(-self.upper, -self.lower)


def exact(values: np.ndarray[Any, np.dtype[Any]]) -> Balls:
    """The real numbers that floats are; NaN and infinity raise."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InvalidCertificate("a number is not finite")
    balls = np.empty(array.size, dtype=object)
    balls[:] = [arb(v) for v in array.ravel().tolist()]
    return balls.reshape(array.shape)


def _elementwise(function: Callable[[arb], arb]) -> Callable[[Balls], Balls]:
    """A function of balls as one of arrays of balls, which stays an array for a single number."""
    mapped = np.frompyfunc(function, 1, 1)
    return lambda balls: np.asarray(mapped(balls), dtype=object)


lower = _elementwise(arb.lower)
"""The least number of each ball."""

upper = _elementwise(arb.upper)
"""The greatest number of each ball."""

size = _elementwise(arb.__abs__)
"""|v| for each ball v."""

root = _elementwise(arb.sqrt)
"""√v for each ball v ≥ 0."""


middle = _elementwise(arb.mid)
"""The midpoint of each ball, an exact number."""

radius = _elementwise(arb.rad)
"""The radius of each ball, an exact number."""


def _positive(v: Any) -> Any:
    return v if v > 0 else ZERO if v <= 0 else _undecided(v)


def _negative(v: Any) -> Any:
    return v if v < 0 else ZERO if v >= 0 else _undecided(v)


def _undecided(v: Any) -> Any:
    raise ArithmeticError(f"the sign of {v} is not decided: only exact end points have one")


positive = _elementwise(_positive)
"""v⁺ = max(v, 0), of exact numbers."""

negative = _elementwise(_negative)
"""v⁻ = min(v, 0), of exact numbers."""


def zeros(*shape: int) -> Balls:
    """Zeros."""
    return np.full(shape, ZERO, dtype=object)


def matmul(a: Balls, b: Balls) -> Balls:
    """A B for A of shape (m, k) and B of shape (k, n) or (k,)."""
    right = b[:, None] if b.ndim == 1 else b
    product = matrix(a) * matrix(right)
    result = np.empty(a.shape[0] * right.shape[1], dtype=object)
    result[:] = product.entries()
    return result.reshape(a.shape[0]) if b.ndim == 1 else result.reshape(a.shape[0], right.shape[1])


def matrix(a: Balls) -> arb_mat:
    """An array as python-flint's matrix."""
    return arb_mat(a.shape[0], a.shape[1], a.ravel().tolist())


def tail(z: arb) -> arb:
    """Q(z) = Pr(Z > z) for a standard normal Z."""
    return (z * ROOT_HALF).erfc() / 2


def interval_mass(a: arb, b: arb) -> arb:
    """Pr(a ≤ Z ≤ b): from tails on the same side of the mean, so that nothing cancels."""
    if a >= 0:
        return tail(a) - tail(b)
    if b <= 0:
        return tail(-b) - tail(-a)
    return 1 - tail(-a) - tail(b)


def symmetric_mass(r: arb) -> arb:
    """Pr(|Z| ≤ r) = erf(r/√2)."""
    return (r * ROOT_HALF).erf()


def product(balls: Balls) -> arb:
    """Π v; no underflow, since exponents are unbounded."""
    total = ONE
    for v in balls.ravel().tolist():
        total = total * v
    return total


def total(balls: Balls) -> arb:
    """Σ v."""
    return sum(balls.ravel().tolist(), ZERO)


def float_down(x: arb) -> float:
    """The largest float that is proven to be at most every number of the ball, or the one before it."""
    nearest = float(x.lower())
    return nearest if arb(nearest) <= x else math.nextafter(nearest, -math.inf)


def float_up(x: arb) -> float:
    """The least float that is proven to be at least every number of the ball, or the one after it."""
    return -float_down(-x)


def mean_down(values: Sequence[float]) -> float:
    """A lower bound of the mean of floats, at the checker's precision or more."""
    with ctx.workprec(max(ctx.prec, PRECISION)):
        return float_down(sum((arb(v) for v in values), ZERO) / len(values))


def mean_up(values: Sequence[float]) -> float:
    """An upper bound of the mean of floats."""
    return -mean_down([-v for v in values])


def median_down(values: Sequence[float]) -> float:
    """A lower bound of the median: of an even number of values, of the mean of the two in the middle.

    Args:
        values: at least one.

    >>> median_down([1.0, 3.0]), median_down([1.0, 2.0, 9.0])
    (2.0, 2.0)
    """
    below, above = median_low(values), -median_low([-value for value in values])
    return mean_down([below, above])


def pack(x: arb) -> tuple[int, int]:
    """The lower end as mantissa and exponent, exactly: for another process."""
    mantissa, exponent = x.lower().man_exp()
    return int(mantissa), int(exponent)


def unpack(packed: tuple[int, int]) -> arb:
    """The number that was packed."""
    mantissa, exponent = packed
    return arb(fmpz(mantissa)) * arb(2) ** exponent
