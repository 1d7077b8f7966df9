"""Intervals of real numbers, and affine maps of them: x Wᵀ + b with W, b and x within bounds."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.numerics.rounding import down, rounding_error, up

CORRECTION_ELEMENTS = 2**22  # products held at a time where weight and input both straddle zero


class Bounds(NamedTuple):
    """Lower and upper bounds on the way through a network; NaN where the arithmetic overflowed.

    Attributes:
        lower: the lower ends.
        upper: the upper ends.
    """

    lower: Float64[Tensor, "..."]
    upper: Float64[Tensor, "..."]

    def unsqueeze(self, dim: int) -> "Bounds":
        """Both with one more axis."""
        return Bounds(self.lower.unsqueeze(dim), self.upper.unsqueeze(dim))

    def squeeze(self, dim: int) -> "Bounds":
        """Both with one axis of length one less."""
        return Bounds(self.lower.squeeze(dim), self.upper.squeeze(dim))

    def transpose(self) -> "Bounds":
        """Both with their last two axes exchanged."""
        return Bounds(self.lower.mT, self.upper.mT)


def total(summands: Sequence[Bounds]) -> Bounds:
    """Enclose the sum of numbers within bounds, rounded outward.

    Args:
        summands: at least one.

    Examples:
        >>> one = torch.ones(1, dtype=torch.float64)
        >>> y = total([Bounds(-one, one), Bounds(one, 2 * one)])
        >>> bool(y.lower <= 0), bool(y.upper >= 3)
        (True, True)
    """
    lower, upper = summands[0]
    for own in summands[1:]:
        lower, upper = down(lower + own.lower), up(upper + own.upper)
    return Bounds(lower, upper)


def affine(weight: Bounds, bias: Bounds, x: Bounds) -> Bounds:
    """Enclose {x Wᵀ + b}: the sum of exact scalar products, rounded outward.

    The least of the four corner products w x (eq. ibp_min) is, with a⁺ = max(a, 0), a⁻ = min(a, 0),

        w̲⁺x̲⁺ + w̲⁻x̄⁺ + w̄⁺x̲⁻ + w̄⁻x̄⁻ + min(w̲⁻x̄⁺, w̄⁺x̲⁻ in absolute value),

    four matrix products and a correction that vanishes unless w and x both straddle zero (then the
    least product is one of two terms, not their sum); the greatest product likewise.

    Args:
        weight: W, bounds of shape (*batch, m, k).
        bias: b, bounds of shape (*batch, m).
        x: bounds of shape (*batch, n, k).

    Examples:
        >>> one = torch.ones(1, 1, dtype=torch.float64)
        >>> y = affine(Bounds(-one, one), Bounds(0 * one[0], 0 * one[0]), Bounds(one, 2 * one))
        >>> bool(y.lower <= -2), bool(y.upper >= 2)
        (True, True)
    """
    k = weight.lower.shape[-1]
    low_w, high_w = weight.lower.mT, weight.upper.mT
    if (x.lower.amin(-1) >= 0).all():  # Σ_k |w_k| x_k ≤ max_k x_k Σ_k |w_k|: no product of matrices is needed
        lower, upper = _by_sign(x.lower, x.upper, low_w), _by_sign(x.upper, x.lower, high_w)
        largest_w = (-low_w).clamp_(min=high_w).sum(-2, keepdim=True)
        magnitude = torch.maximum(x.lower.amax(-1), x.upper.amax(-1)).unsqueeze(-1) * largest_w
    else:
        low_pos, high_pos = x.lower.clamp(min=0.0), x.upper.clamp(min=0.0)
        low_neg, high_neg = x.lower.clamp(max=0.0), x.upper.clamp(max=0.0)
        lower = _by_sign(low_pos, high_pos, low_w) + _by_sign(low_neg, high_neg, high_w)
        upper = _by_sign(high_pos, low_pos, high_w) + _by_sign(high_neg, low_neg, low_w)
        below, above = -low_w.clamp(max=0.0), high_w.clamp(min=0.0)
        columns = _straddling(weight) & _straddling(x)
        lower = lower + _smaller_products(below, high_pos, above, -low_neg, columns)
        upper = upper - _smaller_products(above, high_pos, below, -low_neg, columns)
        largest_x = torch.maximum(x.lower.abs(), x.upper.abs())
        magnitude = 3 * (largest_x @ torch.maximum(low_w.abs(), high_w.abs()))
    largest_bias = torch.maximum(bias.lower.abs(), bias.upper.abs()).unsqueeze(-2)
    error = rounding_error(2 * k + 8, magnitude + largest_bias)
    return Bounds(
        down(lower + bias.lower.unsqueeze(-2) - error),
        up(upper + bias.upper.unsqueeze(-2) + error),
    )


def _by_sign(
    x: Float64[Tensor, "*xbatch n k"],
    x_other: Float64[Tensor, "*xbatch n k"],
    w: Float64[Tensor, "*wbatch k m"],
) -> Float64[Tensor, "*batch n m"]:
    """The sum x W⁺ + x' W⁻; one part of W at a time, for fresh memory costs as much as the products."""
    return (x @ w.clamp(min=0.0)).add_(x_other @ w.clamp(max=0.0))


def _straddling(bounds: Bounds) -> Bool[Tensor, "k"]:
    """The columns in which some entry's bounds have zero strictly inside."""
    straddles = (bounds.lower < 0) & (bounds.upper > 0)
    return straddles.flatten(0, -2).any(0)


def _smaller_products(
    w: Float64[Tensor, "*wbatch k m"],
    x: Float64[Tensor, "*xbatch n k"],
    w_other: Float64[Tensor, "*wbatch k m"],
    x_other: Float64[Tensor, "*xbatch n k"],
    columns: Bool[Tensor, "k"],
) -> Tensor:
    """Σ_k min(w_k x_k, w'_k x'_k) over the chosen columns, for non-negative factors."""
    chosen = columns.nonzero().squeeze(-1)
    batch = torch.broadcast_tensors(w[..., 0, 0], x[..., 0, 0])[0].shape  # broadcast_shapes imports sympy
    total = torch.zeros(*batch, x.shape[-2], w.shape[-1], dtype=x.dtype, device=x.device)
    for part in chosen.split(max(1, CORRECTION_ELEMENTS // max(1, total.numel()))):
        product = x[..., :, part, None] * w[..., None, part, :]
        other = x_other[..., :, part, None] * w_other[..., None, part, :]
        total += torch.minimum(product, other).sum(-2)
    return total
