"""Moments of h = relu(μ + t Z), a rectified normal."""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.numerics.rounding import LIBRARY_ULPS, SMALLEST_NORMAL, gamma, rounding_error, up

_ROUNDINGS = 4 * LIBRARY_ULPS
SMALLEST_RATIO = 2.0**-480  # of t to |μ|
FARTHEST = 36.0  # deviations from 0 up to which a tail is a normal number
_CHARGE = gamma(2 * _ROUNDINGS)


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
    linear: Float64[Tensor, "*rates P R k"],
    quadratic: Float64[Tensor, "*rates P R k"] | None,
    mean: Float64[Tensor, "P R k"],
    deviation: Float64[Tensor, "P k"],
) -> Float64[Tensor, "*rates P R k"]:
    """An upper bound of log E exp(c h + q² h² / 2); infinite where the expectation (nearly) is.

    With ν = μ/t, v = c t and w = q² t² < 1, the Gaussian integral over h > 0 gives

        E = Φ(−ν) + (1 − w)^-½ e^x Φ(ζ),    x = (ν² w + 2 ν v + v²) / (2 (1 − w)),  ζ = (ν + v) / √(1 − w).

    Since x = (ζ² − ν²)/2, both terms are e^y T(z), T(z) = e^(z₊²/2) Q(z): z = ν with y = −ν₊²/2, and z = −ζ
    with y = x for ζ > 0 and y = −ν²/2 otherwise. Errors are charged to y, and the larger y is taken out of
    the sum.

    Args:
        linear: c, or c after one rounding: the error of that is charged too.
        quadratic: q ≥ 0, whose square multiplies h² / 2, or q after one rounding; None for 0.
        mean: μ.
        deviation: t.
    """
    t = deviation.unsqueeze(-2)
    nu, v = mean / t, linear * t
    half, edge, mixed, squares = nu.square() / 2, nu + v, nu * v, v * v
    w = None if quadratic is None else (quadratic * t).square_()
    rest = None if w is None else (1 - w).clamp_(min=0.5)
    root = None if rest is None else rest.sqrt()
    if w is not None and root is not None:
        edge.div_(root)
        squares.addcmul_(half, w, value=2.0)
    exponent = torch.add(squares, mixed, alpha=2.0)
    size = squares.add_(mixed.abs_(), alpha=2.0)
    exponent.add_(size, alpha=_CHARGE).div_(2.0 if rest is None else 2 * rest)
    active = torch.where(edge > 0, exponent, half * (_CHARGE - 1))
    below = edge.clamp(-FARTHEST, 0.0)
    active.addcmul_(below, below, value=_CHARGE)
    inactive = nu.clamp(min=0.0).square().mul_(_CHARGE - 0.5)
    largest = torch.maximum(active, inactive)
    total = (inactive - largest).exp_().mul_(_scaled_tail(nu))
    share = active.sub_(largest).exp_().mul_(_scaled_tail(edge.neg_()))
    total.add_(share if root is None else share.div_(root))
    log = total.clamp_(min=SMALLEST_NORMAL).log_()
    error = rounding_error(_ROUNDINGS, log.abs().add_(largest.abs()).add_(1.0))
    found = up(largest.add_(log).add_(error)).nan_to_num_(math.inf, math.inf)
    return found if w is None else torch.where(w <= 0.5, found, math.inf)


def _scaled_tail(z: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
    """e^(z₊²/2) Q(z), with a relative error of at most a few (min(z₊, 36)² + 1) u, or else from above.

    Far from 0 it is bounded by an asymptotic series that stops behind a positive term.
    """
    right = z.clamp(0.0, FARTHEST)
    found = torch.erfc(z * math.sqrt(0.5)).mul_((right * right).div_(2.0).exp_()).div_(2.0)
    far = z > FARTHEST
    if not far.any():
        return found
    square = 1 / (z * z)
    series = 1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))
    return torch.where(far, series / (z * math.sqrt(2 * math.pi)), found)
