"""Moments of h = relu(μ + t Z), a rectified normal."""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.numerics.rounding import LIBRARY_ULPS, SMALLEST_NORMAL, rounding_error, up

_ROUNDINGS = 4 * LIBRARY_ULPS
SMALLEST_RATIO = 2.0**-480  # of t to |μ|


def second_moment(mean: Float64[Tensor, "P k"], deviation: Float64[Tensor, "P k"]) -> Float64[Tensor, "P k"]:
    """An upper bound of E relu(μ + t Z)² = (μ² + t²) Φ(ν) + μ t φ(ν), ν = μ/t.

    It grows with μ, and with t, relu² being convex: upper bounds of μ and t may be given. So a t that is 0,
    or so small that ν² would overflow, is replaced by a larger one.
    """
    deviation = torch.maximum(deviation, mean.abs() * SMALLEST_RATIO).clamp(min=SMALLEST_NORMAL)
    nu = mean / deviation
    density = torch.exp(-nu * nu / 2) / math.sqrt(2 * math.pi)
    square = mean * mean + deviation * deviation
    moment = square * torch.special.ndtr(nu) + mean * deviation * density
    charged = square * (1 + nu * nu * density) + (mean * deviation * density).abs()
    return up((moment + rounding_error(_ROUNDINGS, charged)).clamp(min=0.0))


def log_moment(
    linear: Float64[Tensor, "P R k"],
    quadratic: Float64[Tensor, "P R k"],
    mean: Float64[Tensor, "P R k"],
    deviation: Float64[Tensor, "P k"],
) -> Float64[Tensor, "P R k"]:
    """An upper bound of log E exp(c h + q² h² / 2); infinite where the expectation (nearly) is.

    With ν = μ/t, v = c t and w = q² t² < 1, the Gaussian integral over h > 0 gives

        E = Φ(−ν) + (1 − w)^-½ exp[(ν² w + 2 ν v + v²) / (2 (1 − w))] Φ((ν + v) / √(1 − w)).

    Args:
        linear: c, or c after one rounding: the error of that is charged too.
        quadratic: q ≥ 0, whose square multiplies h² / 2, or q after one rounding.
        mean: μ.
        deviation: t.
    """
    t = deviation.unsqueeze(-2)
    nu, v, w = mean / t, linear * t, (quadratic * t) ** 2
    rest = (1 - w).clamp(min=0.5)
    edge = (nu + v) / rest.sqrt()
    exponent = (nu * nu * w + 2 * nu * v + v * v) / (2 * rest)
    active = exponent + torch.special.log_ndtr(edge) - rest.log() / 2
    inactive = torch.special.log_ndtr(-nu).expand_as(active)
    gap = inactive - active  # each term's error counts by its share of the sum, at most exp(−|gap|)
    size = (nu * nu * w + 2 * (nu * v).abs() + v * v) / (2 * rest) + edge.clamp(max=0.0) ** 2
    size = size * torch.exp((-gap).clamp(max=0.0)) + nu.clamp(min=0.0) ** 2 * torch.exp(gap.clamp(max=0.0))
    error = rounding_error(_ROUNDINGS, 1 + size + torch.logaddexp(active, inactive).abs())
    return torch.where(w <= 0.5, up(torch.logaddexp(active, inactive) + error), math.inf)
