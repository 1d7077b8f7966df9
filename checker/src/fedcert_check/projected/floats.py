"""Upper bounds in floating point, each with what its roundings can be short of.

Sums over all inputs of a network are too many for balls one by one. Here they are made of float64 arrays with

    |fl(A B) − A B| ≤ γ_k |A| |B| + k η,    γ_k = k 2^-53 / (1 − k 2^-53),

k the length of the sums, in whatever order they are taken, with fused multiply-adds or without; η = 2^-1000
is more than what any underflow loses, also where subnormal numbers count as zero. A single operation is
correct but for half a unit of the last place, so that the next float is a bound. What is read of a ball
encloses it.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from flint import arb

from fedcert_check.balls import Balls, exact, float_up
from fedcert_check.projected.folded import LARGEST, STEPS_PER_UNIT, excess
from fedcert_check.projected.unproven import Unproven

Floats = np.ndarray[Any, np.dtype[np.float64]]
UNIT = 2.0**-53
LOST = 2.0**-1000  # more than an underflow loses


@dataclass(frozen=True)
class Enclosed:
    """Numbers within `error` of `centre`.

    Attributes:
        centre: floats.
        error: at least 0.
    """

    centre: Floats
    error: Floats

    @classmethod
    def of(cls, balls: Balls) -> "Enclosed":
        """Balls, each enclosed."""
        centre, radius = _nearest(balls), _nearest(np.array([own.rad() for own in balls.ravel().tolist()]))
        error = up(up(2 * UNIT * np.abs(centre)) + up(radius.reshape(balls.shape)))
        return cls(centre, up(error + LOST))

    @property
    def largest(self) -> Floats:
        """Upper bounds of the absolute values."""
        return up(np.abs(self.centre) + self.error)


@dataclass(frozen=True)
class FloatLaw:
    """W ~ N(M, S²), entry by entry.

    Attributes:
        mean: M.
        variance: upper bounds of S².
        square: upper bounds of M² + S² = E W².
        widest: for each input, an upper bound of the deviations S of its weights.
    """

    mean: Enclosed
    variance: Floats
    square: Floats
    widest: Floats

    @classmethod
    def of(cls, mean: Balls, variance: Balls) -> "FloatLaw":
        """The law with these means and variances."""
        M, S2 = Enclosed.of(mean), uppers(variance)
        return cls(M, S2, up(squared(M.largest) + S2), up(np.sqrt(S2.max(0))))


def uppers(balls: Balls) -> Floats:
    """Floats that are not below the balls."""
    ends = _nearest(np.array([ball.upper() for ball in balls.ravel().tolist()], dtype=object))
    return up(ends).reshape(balls.shape)


def _nearest(balls: Balls) -> Floats:
    """The float nearest to the midpoint of each ball."""
    return np.array([float(ball) for ball in balls.ravel().tolist()]).reshape(balls.shape)


FLOAT_PRECISION = 64
"""Bits of balls up to which sums over all inputs are made in floating point."""


def up(values: Floats) -> Floats:
    """The next floats: upper bounds of what a correctly rounded operation stands for."""
    return np.nextafter(values, np.inf)


def squared(values: Floats) -> Floats:
    """Upper bounds of the squares, infinite ones too."""
    with np.errstate(over="ignore"):
        return up(values * values)


def down(values: Floats) -> Floats:
    """The floats before."""
    return np.nextafter(values, -np.inf)


def sum_of_products(a: Floats, b: Floats) -> Floats:
    """Upper bounds of A B for A, B ≥ 0: the sum times 1/(1 − γ_k) ≤ 1 + 4 k 2^-53, and η for underflows."""
    k = a.shape[-1]
    _require_short(k)
    return up(up((a @ b) * (1 + 4 * k * UNIT)) + k * LOST)


def product(a: Enclosed, b: Enclosed) -> Enclosed:
    """A B: γ_k |A| |B| for the roundings, and the errors of A and B times what they are multiplied by."""
    k = a.centre.shape[-1]
    _require_short(k)
    sizes = sum_of_products(np.abs(a.centre), np.abs(b.centre))
    read = up(sum_of_products(np.abs(a.centre), b.error) + sum_of_products(a.error, b.largest))
    return Enclosed(a.centre @ b.centre, up(up(up(2 * k * UNIT * sizes) + k * LOST) + read))


def _require_short(k: int) -> None:
    if k > 2**40:
        raise Unproven("a sum of too many terms for floating point")


@cache
def _table() -> Floats:
    """Upper bounds of the excess e(ν) at every step."""
    return np.array([float_up(excess(step)) for step in range(LARGEST * STEPS_PER_UNIT + 1)])


def folded_means(mean: Enclosed, deviation: Floats) -> Floats:
    """Upper bounds of E |m + r Z| (`folded.py`), for upper bounds of r.

    The step of the table that is proposed is verified: r · step ≤ |m| · 2^10. Where that fails, step 0 holds.
    """
    most = mean.largest
    least = np.maximum(down(np.abs(mean.centre) - mean.error), 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        nu = np.nan_to_num(least / deviation * (1 - 2.0**-40), nan=0.0, posinf=LARGEST)
        step = np.floor(np.minimum(nu, LARGEST) * STEPS_PER_UNIT)
        step = np.where(up(deviation * step) <= down(least * STEPS_PER_UNIT), step, 0.0)
    return up(up(most + LOST) + up(deviation * _table()[step.astype(np.int64)]))


def movement_of_inputs(
    rows: Balls, law: FloatLaw, radius: Balls, u: arb, shaking: Balls | None = None
) -> Balls:
    """Upper bounds of what `movement.movement_of_inputs` bounds, for independent weights.

    Args:
        rows: B.
        law: of W.
        radius: of the region.
        u: width of the events.
        shaking: deviations of independent normals N that are added to the rows; None for none.
    """
    own, delta = Enclosed.of(rows), uppers(radius)
    variance = sum_of_products(squared(own.largest), law.variance)
    average, lipschitz = variance, sum_of_products(variance, squared(delta))
    beyond = np.zeros(len(rows))
    if shaking is not None:
        shakes = uppers(shaking)
        steepest = shakes.max(-1)
        average = up(average + sum_of_products(squared(shakes), law.square))
        beyond = up(up(steepest * sum_of_products(delta[None], law.widest)) * float_up(1 / arb.pi()))
        widest = sum_of_products(squared(delta)[None], squared(law.widest))
        lipschitz = up(lipschitz + up(squared(steepest) * widest))
    mean = sum_of_products(folded_means(product(own, law.mean), up(np.sqrt(average))), delta)
    steep = up(float_up(u) * up(np.sqrt(lipschitz)))
    return as_balls(up(up(mean + beyond) + steep))


def as_balls(bounds: Floats) -> Balls:
    """Upper bounds as exact numbers; nothing is proven where one is not finite."""
    if not np.isfinite(bounds).all():
        raise Unproven("a number without a bound")
    return exact(bounds)
