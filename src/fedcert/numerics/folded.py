"""E |m + r Z|, the mean of a folded normal."""

import math

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
    nu = nu.clamp_(0.0, FAR * STEPS).floor_().div_(STEPS)
    width = (nu * nu).add_(4.0).sqrt_().add_(nu)
    share = nu.square_().mul_(-0.5).exp_().div_(width).div_(width)
    return torch.addcmul(mean, deviation, share, value=_DENSITY)
