"""Bounds of the standard normal tail and of the logarithm of an interval's probability."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import LIBRARY_ULPS, down, rounding_error, up

_ROUNDINGS = LIBRARY_ULPS + 4
_VANISHES = 40.0  # Q(40) < 2^-1074, the smallest positive float


def _tail(z: Float[Tensor, "*shape"]) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """Q(z) = erfc(z / √2) / 2 for z ≥ 0, and a bound of its error.

    The argument z / √2 carries a relative error of at most 3u (the constant, the product). Since
    z φ(z) / Q(z) ≤ z² + z, it moves Q by a relative 3u (z² + z) at most, to first order; twice that
    and more is charged. erfc itself is charged as a library call.
    """
    z = z.clamp(max=_VANISHES)
    value = torch.erfc(z * math.sqrt(0.5)) / 2
    return value, rounding_error(_ROUNDINGS, value * (z * z + z + 1))


def tail_lower(z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """A lower bound of Q(z) = Pr(Z > z) for a standard normal Z and z ≥ 0; never negative."""
    value, error = _tail(z)
    return down(value - error).clamp(min=0.0)


def tail_upper(z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """An upper bound of Q(z) = Pr(Z > z) for a standard normal Z and z ≥ 0."""
    value, error = _tail(z)
    return up(value + error)


def tail(z: Enclosure) -> Enclosure:
    """Q(z) = Pr(Z > z) for a standard normal Z: it falls with z."""
    right = Enclosure(tail_lower(z.upper.clamp(min=0.0)), tail_upper(z.lower.clamp(min=0.0)))
    if (z.lower >= 0).all():
        return right.clamp(0.0, 1.0)
    left = 1 - Enclosure(tail_lower(-z.lower.clamp(max=0.0)), tail_upper(-z.upper.clamp(max=0.0)))
    return Enclosure(
        torch.where(z.upper >= 0, right.lower, left.lower), torch.where(z.lower >= 0, right.upper, left.upper)
    ).clamp(0.0, 1.0)


def log_mass_lower(a: Float[Tensor, "*shape"], b: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """A lower bound of log Pr(a ≤ Z ≤ b) for a standard normal Z; −inf where a or b is NaN.

    Around the mean it is log1p(−Q(−a) − Q(b)), never the difference of two numbers near 1; on one
    side of it, log(Q(near) − Q(far)).

    Args:
        a: lower end points, in standard deviations from the mean.
        b: upper end points.
    """
    around = (a <= 0) & (b >= 0)
    outside = up(tail_upper(a.abs()) + tail_upper(b.abs()))
    log_mass = torch.log1p(-outside.clamp(max=1.0))
    if not around.all():
        near, far = torch.minimum(a.abs(), b.abs()), torch.maximum(a.abs(), b.abs())
        one_sided = down(tail_lower(near) - tail_upper(far)).clamp(min=0.0)
        log_mass = torch.where(around, log_mass, torch.log(one_sided))
        log_mass = torch.where(a <= b, log_mass, -math.inf)
    return log_mass - rounding_error(_ROUNDINGS, log_mass.abs())


def log_mass_upper(a: Float[Tensor, "*shape"], b: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """An upper bound of log Pr(a ≤ Z ≤ b) for a standard normal Z; 0 where a or b is NaN.

    Args:
        a: lower end points, in standard deviations from the mean.
        b: upper end points.
    """
    around = (a <= 0) & (b >= 0)
    outside = down(tail_lower(a.abs()) + tail_lower(b.abs())).clamp(min=0.0)
    near, far = torch.minimum(a.abs(), b.abs()), torch.maximum(a.abs(), b.abs())
    one_sided = up(tail_upper(near) - tail_lower(far))
    log_mass = torch.where(around, torch.log1p(-outside), torch.log(one_sided))
    log_mass = (log_mass + rounding_error(_ROUNDINGS, log_mass.abs())).clamp(max=0.0)
    return torch.where(a <= b, log_mass, 0.0)
