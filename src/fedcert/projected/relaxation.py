"""Lines instead of a ReLU, in a backward pass."""

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.numerics import above, rounding_error, up


def through_relu(
    coefficient: Float64[Tensor, "P R k"],
    error: Float64[Tensor, "P R k"],
    lower: Float64[Tensor, "P k"],
    upper: Float64[Tensor, "P k"],
    ceiling: Float64[Tensor, "P k"],
) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R"], Float64[Tensor, "P R"]]:
    """Rows B, a constant c ≤ 0 and an error e such that A*·relu(a) ≥ B·a + c − e for all a within bounds.

    By the sign of A, relu(a) ≥ 0 or relu(a) ≥ a, whichever of the two encloses the smaller area, or
    relu(a) ≤ s a + t for any s in [0, 1] and t ≥ max(−s l, (1 − s) u, 0): the ends of a convex function. A
    neuron that is known to be active or inactive needs no line, and only one of its bounds.

    Args:
        coefficient: A.
        error: bound of |A* − A| for the exact coefficients A*.
        lower: l.
        upper: u.
        ceiling: bounds of relu(a).
    """
    low, high = lower.unsqueeze(-2), upper.unsqueeze(-2)
    stable = (low >= 0) | (high <= 0)
    below = ((low >= 0) | (high > -low)).to(low.dtype)
    slope = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, high / (high - low))).clamp(0, 1)
    height = torch.maximum(up(-slope * low), up(up(1 - slope) * high)).clamp(min=0.0)
    height = torch.where(stable, 0.0, height)
    falling = coefficient.clamp(max=0.0)
    constant = (falling * height).sum(-1)
    rounded = torch.where(stable, 0.0, falling.abs() * slope * torch.maximum(low.abs(), high.abs()))
    terms = low.shape[-1] + 4
    inexact = (error * ceiling.unsqueeze(-2)).sum(-1)
    charge = inexact + rounding_error(8, rounded.sum(-1)) + rounding_error(terms, constant.abs())
    charge = above(charge, terms)
    return coefficient.clamp(min=0.0) * below + falling * slope, constant, charge
