"""E |m + r Z|, the mean of a folded normal."""

import math
from functools import lru_cache

import torch
from jaxtyping import Float64
from torch import Tensor

FAR = 8.0  # deviations of the mean from 0, beyond which the excess does not matter
STEPS = 2.0**10
"""Multiples of 1/STEPS are the ν at which the excess is computed; the checker has a table of them."""
_DENSITY = 8 / math.sqrt(2 * math.pi)
ROUNDINGS = 256
"""Roundings on the way of a value that is found here: the caller charges for them."""


def folded_mean(
    mean: Float64[Tensor, "*shape"], deviation: Float64[Tensor, "*shape"]
) -> Float64[Tensor, "*shape"]:
    """An upper bound of E |m + r Z| for m, r ≥ 0, but for `ROUNDINGS` roundings.

    With ν = m/r it is m + 2 r (φ(ν) − ν Q(ν)), and Q(ν) ≥ 2 φ(ν) / (ν + √(ν² + 4)) (Birnbaum 1942), so that

        E |m + r Z| ≤ m + 8 r φ(ν) / (ν + √(ν² + 4))².

    The excess falls with ν: a smaller ν, rounded down to a step and cut at 8, bounds it. The mean grows
    with r, so an upper bound of r may be given, or what is short of one by a relative 2^-31, and with m at a
    rate of at most 1.

    Args:
        mean: m.
        deviation: r.
    """
    nu = (mean / deviation).mul_((1 - 2.0**-30) * STEPS).nan_to_num_(nan=0.0)
    step = nu.clamp_(0.0, FAR * STEPS).int()
    share = _shares(nu.device).index_select(0, step.flatten()).view_as(nu)
    return torch.addcmul(mean, deviation, share, value=_DENSITY)


@lru_cache(maxsize=2)
def _shares(device: torch.device) -> Float64[Tensor, "steps"]:
    """e^(−ν²/2) / (ν + √(ν² + 4))² for every step ν."""
    nu = torch.arange(int(FAR * STEPS) + 1, dtype=torch.float64, device=device) / STEPS
    return torch.exp(-nu * nu / 2) / (nu + (nu * nu + 4).sqrt()).square()
