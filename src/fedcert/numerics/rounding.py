"""Rounding: what floating point may have lost, charged against every bound.

A certificate is a claim about real numbers. The model (docs/soundness.md, section 1) is IEEE-754
binary64 with rounding to nearest and gradual underflow, in any summation order, with or without
fused multiply-add: a product or sum is exact up to a factor 1 + δ, |δ| ≤ u = 2^-53, and an underflow
of at most 2^-1074.
"""

import math
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from fedcert.errors import ShapeMismatch

UNIT_ROUNDOFF = 2.0**-53
SMALLEST_NORMAL = 2.0**-1022
LIBRARY_ULPS = 16
"""Relative error, in units of u, charged for one call of exp, log, log1p, erfc or tanh.

The libraries behind torch document at most 1.5 (SLEEF), 1 (MKL's high-accuracy mode) and 5 (CUDA,
glibc) units in the last place, each worth at most 2u; the tests compare them with ball arithmetic.
"""


def require_float64(what: str, *tensors: Tensor | None) -> None:
    """Raise unless all tensors are float64: the charged errors are those of double precision alone."""
    for tensor in tensors:
        if tensor is not None and tensor.dtype != torch.float64:
            raise ShapeMismatch(f"{what} must be float64, not {tensor.dtype}: convert with .double()")


def require_gradual_underflow() -> None:
    """Raise where denormal numbers are flushed to zero, which the error bounds do not allow for."""
    if (torch.tensor(2.0**-1074, dtype=torch.float64) * 1.0).item() == 0.0:
        raise FloatingPointError("denormal numbers are flushed to zero: call torch.set_flush_denormal(False)")


@lru_cache
def gamma(roundings: int) -> float:
    """γ_k = k·u / (1 − k·u): bounds the relative error of k roundings, itself rounded up."""
    product = roundings * UNIT_ROUNDOFF
    if product >= 0.5:
        raise OverflowError(f"{roundings} roundings: no error bound holds in double precision")
    return math.nextafter(math.nextafter(product / (1 - product), math.inf), math.inf)


def rounding_error(roundings: int, magnitude: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Bound |fl(s) − s| for a sum s whose terms pass through at most `roundings` roundings each.

    |fl(s) − s| ≤ γ_k M with M the sum of the terms' absolute values. `magnitude` is that sum as
    floating point found it, with as many roundings, so M ≤ magnitude / (1 − γ_k); and
    γ_k / (1 − γ_k) = γ_2k / 2, which leaves a factor of two for the roundings of this very product.
    Underflow adds at most 2^-1074 a rounding, far below the second term.

    Args:
        roundings: k, the number of roundings on the way of any one term.
        magnitude: Σ|terms|, computed in floating point.
    """
    return gamma(2 * roundings) * magnitude + roundings * SMALLEST_NORMAL


def down(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The next smaller float: below the real result of the one rounded operation that gave x."""
    return torch.nextafter(x, _infinite(-math.inf, x.dtype, x.device))


def up(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The next larger float: above the real result of the one rounded operation that gave x."""
    return torch.nextafter(x, _infinite(math.inf, x.dtype, x.device))


@lru_cache
def _infinite(sign: float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """∞ or −∞; made once, since the next float is asked for thousands of times."""
    return torch.full((), sign, dtype=dtype, device=device)


def above(x: Float[Tensor, "*shape"], roundings: int) -> Float[Tensor, "*shape"]:
    """An upper bound of a sum of products of non-negative numbers that was computed as x.

    Args:
        x: the computed sum.
        roundings: the number of roundings on the way of any one term.
    """
    return up(x + rounding_error(roundings, x))


def below(x: Float[Tensor, "*shape"], roundings: int) -> Float[Tensor, "*shape"]:
    """A lower bound, never negative, of a sum of products of non-negative numbers that was computed as x.

    Args:
        x: the computed sum.
        roundings: the number of roundings on the way of any one term.
    """
    return down(x - rounding_error(roundings, x)).clamp(min=0.0)


def sum_down(terms: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch"]:
    """A lower bound of Σ terms over the last axis."""
    error = rounding_error(terms.shape[-1] + 1, terms.abs().sum(-1))
    return down(terms.sum(-1) - error)


def sum_up(terms: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch"]:
    """An upper bound of Σ terms over the last axis."""
    return -sum_down(-terms)


def exp_down(log_x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """A lower bound of exp(log_x), never negative; exp(-inf) is 0."""
    x = torch.exp(log_x)
    return (x - rounding_error(LIBRARY_ULPS, x)).clamp(min=0.0)


def exp_up(log_x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """An upper bound of exp(log_x)."""
    x = torch.exp(log_x)
    return up(x + rounding_error(LIBRARY_ULPS, x))


def log_down(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """A lower bound of log(x); log(0) is -inf."""
    y = torch.log(x)
    return y - rounding_error(LIBRARY_ULPS, y.abs())


def log_up(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """An upper bound of log(x) for x > 0."""
    y = torch.log(x)
    return up(y + rounding_error(LIBRARY_ULPS, y.abs()))


def tanh_down(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """A lower bound of tanh(x), never below −1."""
    y = torch.tanh(x)
    return (y - rounding_error(LIBRARY_ULPS, y.abs())).clamp(min=-1.0)


def tanh_up(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """An upper bound of tanh(x), never above 1."""
    return -tanh_down(-x)
