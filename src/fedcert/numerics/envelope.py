"""The least exponential above the tail of a normal.

    C(c) = sup_v e^(cv) V(v),    V(v) = Q(v) for v > 0 and 1 for v ≤ 0,

so that V(v) ≤ C(c) e^(−cv) for all v. On v ≥ 0, log Q(v) + cv is concave with the derivative c − ρ(v),
ρ = φ/Q. ρ is convex (Sampford, Annals of Mathematical Statistics 24, 1953), so ρ' ≥ ρ'(0) = 2/π, and for
every v_0 ≥ 0

    log C(c) ≤ max(0, log Q(v_0) + c v_0 + π (c − ρ(v_0))²/4).

It is least where ρ(v_0) = c, and far below c²/2, the exponent of E e^(cZ), though never above it.
"""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.gaussian import tail

FARTHEST = 36.0  # no tail underflows up to here
EXCESS = math.nextafter(math.pi / 4, 1.0)  # above π/4, which multiplies (c − ρ(v_0))²
STEPS = 4  # of Newton's method


def log_envelope(c: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
    """An upper bound of log C(c); infinite where c is negative or not finite."""
    v = Enclosure.exactly(_touching(c))
    share, density = tail(v), (v * v * -0.5).exp() / _root_of_two_pi(c)
    gap = density / share - c
    touching = (share.log() + v * c + gap.square() * EXCESS).upper
    moment = (Enclosure.exactly(c) * c * 0.5).upper
    least = torch.where(c <= FARTHEST, torch.minimum(touching, moment), moment)
    return torch.where(c >= 0, least.clamp(min=0.0), math.inf).nan_to_num(math.inf, math.inf)


def _touching(c: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
    """About the v ≥ 0 with ρ(v) = c; any v ≥ 0 is valid."""
    v = (c - 1 / c.clamp(min=1.0)).clamp(0.0, FARTHEST)
    for _ in range(STEPS):
        rho = torch.exp(-v * v / 2 - torch.special.log_ndtr(-v)) / math.sqrt(2 * math.pi)
        v = (v + (c - rho) / (rho * (rho - v)).clamp(min=2 / math.pi)).clamp(0.0, FARTHEST)
    return v.nan_to_num(nan=0.0)


def _root_of_two_pi(like: Tensor) -> Enclosure:
    """√(2π)."""
    value = torch.full_like(like, math.sqrt(2 * math.pi))
    return Enclosure.around(value, value * 2.0**-50)
