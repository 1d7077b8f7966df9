"""Lines that replace a ReLU in a backward pass."""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.numerics.rounding import SMALLEST_NORMAL, above, rounding_error, up


@dataclass(frozen=True)
class Lines:
    """Lines around the ReLUs of a layer: below·a ≤ relu(a) ≤ slope·a + height for all a within bounds.

    Any slopes in [0, 1] are valid for a neuron of unknown sign, with
    height ≥ max(−slope·l, (1 − slope)·u, 0): the ends of a convex function. A neuron that is known to be
    active or inactive is its own line, and needs only one of its bounds.

    Attributes:
        lower: l, the lower bounds of the pre-activations.
        upper: u, the upper bounds of the pre-activations.
        below: slope of the line below, through the origin.
        slope: slope of the line above.
        height: height of the line above at 0.
    """

    lower: Float64[Tensor, "P k"]
    upper: Float64[Tensor, "P k"]
    below: Float64[Tensor, "P k"]
    slope: Float64[Tensor, "P k"]
    height: Float64[Tensor, "P k"]

    @classmethod
    def of(
        cls,
        lower: Float64[Tensor, "P k"],
        upper: Float64[Tensor, "P k"],
        tilt: Float64[Tensor, "P"] | None = None,
    ) -> "Lines":
        """The chord above; below it, relu(a) ≥ a where ρ u > −l and relu(a) ≥ 0 elsewhere.

        Args:
            lower: l.
            upper: u.
            tilt: ρ; 1 encloses the smallest area, and None means 1.
        """
        weighed = upper if tilt is None else upper * tilt.unsqueeze(-1)
        below = ((lower >= 0) | ((upper > 0) & (weighed > -lower))).to(lower.dtype)
        chord = upper / (upper - lower)
        slope = torch.where(lower >= 0, 1.0, torch.where(upper <= 0, 0.0, chord)).clamp(0, 1)
        height = torch.maximum(up(-slope * lower), up(up(1 - slope) * upper)).clamp(min=0.0)
        stable = (lower >= 0) | (upper <= 0)
        return cls(lower, upper, below, slope, torch.where(stable, 0.0, height))

    @classmethod
    def straight(cls, like: Float64[Tensor, "P k"]) -> "Lines":
        """The lines of neurons without a ReLU: each is its own line, whatever its range.

        Args:
            like: a tensor of the same shape.
        """
        zero, one = torch.zeros_like(like), torch.ones_like(like)
        return cls(zero, zero, one, one, zero)

    @property
    def widest(self) -> Float64[Tensor, "P k"]:
        """max(|l|, |u|) for a neuron of unknown sign, 0 for any other."""
        stable = (self.lower >= 0) | (self.upper <= 0)
        return torch.where(stable, 0.0, torch.maximum(self.lower.abs(), self.upper.abs()))


@dataclass(frozen=True)
class Above:
    """Lines above the ReLUs of a layer for each row: slope·a + height.

    Attributes:
        slope: in [0, 1].
        height: at 0.
    """

    slope: Float64[Tensor, "P #R k"]
    height: Float64[Tensor, "P #R k"]

    @classmethod
    def of(cls, lines: Lines) -> "Above":
        """The same lines for all rows."""
        return cls(lines.slope.unsqueeze(-2), lines.height.unsqueeze(-2))


def through_relu(
    coefficient: Float64[Tensor, "P R k"],
    error: Float64[Tensor, "P R k"],
    lines: Lines,
    ceiling: Float64[Tensor, "P k"],
    highest: Above | None = None,
) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R"], Float64[Tensor, "P R"]]:
    """Rows B, a constant c ≤ 0 and an error e such that A*·relu(a) ≥ B·a + c − e for all a within bounds.

    The sign of A selects the line below or the line above. Other lines above than those of the bounds may be
    given: then it holds where relu(a) stays below these.

    Args:
        coefficient: A.
        error: a bound of |A* − A| for the exact coefficients A*.
        lines: the lines below and above the ReLUs.
        ceiling: bounds of relu(a).
        highest: the lines above; those of `lines` where None.
    """
    below, highest = lines.below.unsqueeze(-2), highest or Above.of(lines)
    slope, height = highest.slope, highest.height
    rising, falling = coefficient.clamp(min=0.0), coefficient.clamp(max=0.0)
    constant = (falling * height).sum(-1)
    rounded = (falling.abs() * slope + SMALLEST_NORMAL) * lines.widest.unsqueeze(-2)  # it may underflow
    terms = slope.shape[-1] + 4
    inexact = (error * ceiling.unsqueeze(-2)).sum(-1)
    charge = inexact + rounding_error(8, rounded.sum(-1)) + rounding_error(terms, constant.abs())
    return rising * below + falling * slope, constant, above(charge, terms)
