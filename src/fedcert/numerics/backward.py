"""Linear lower bounds on their way from a network's outputs back to its inputs (docs/soundness.md, 6).

For given rows and outputs z, rows · z ≥ a · h + c is kept at each layer's activations h. The roundings of the
constant c are charged once, at the input: each step adds what it sums up to `magnitude`, and the roundings on
the way of any one term to `roundings`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.numerics.interval import Bounds, affine, total
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, down, rounding_error, up

INITIAL_ROUNDINGS = 13  # those of adding up at the input, and to spare
CACHED_COEFFICIENTS = 2**17  # held at a time, so that they stay in a processor's cache


@dataclass(frozen=True)
class LinearBound:
    """rows · z ≥ a · h + c for all parameters and inputs within bounds.

    Attributes:
        coefficients: a, taken as the exact numbers that these floats are.
        constant: c, as floating point added it up.
        magnitude: the sum of the absolute values of all terms of c, and of what the roundings of coefficients
            multiply.
        roundings: the number of roundings on the way of any one term of `constant` or `magnitude`, at most.
    """

    coefficients: Float64[Tensor, "B P R k"]
    constant: Float64[Tensor, "B P R"]
    magnitude: Float64[Tensor, "B P R"]
    roundings: int

    @classmethod
    def of(cls, rows: Float64[Tensor, "B P R m"]) -> "LinearBound":
        """The rows themselves, on the outputs."""
        zero = torch.zeros_like(rows[..., 0])
        return cls(rows, zero, zero, INITIAL_ROUNDINGS)

    @property
    def ends(self) -> Bounds:
        """Bounds of the coefficients: the numbers themselves."""
        return Bounds(self.coefficients, self.coefficients)

    def shared(self, count: int) -> list["LinearBound"]:
        """Bounds a z_i for summands of z = Σ_i z_i, whose sum is a z + c: the first one has the constant.

        Args:
            count: the number of summands.
        """
        return [self, *[LinearBound.of(self.coefficients)] * (count - 1)]

    def settled(self, h: Bounds) -> "LinearBound":
        """The bound itself: there is nothing to choose."""
        return self

    def least(self, x: Bounds) -> Float64[Tensor, "B P R"]:
        """A lower bound of rows · z, for inputs h = x within bounds."""
        return LooseBound(self.ends, self.constant, self.magnitude, self.roundings).least(x)


@dataclass(frozen=True)
class LooseBound:
    """rows · z ≥ min a · h + c, the least over all a within bounds: a weight box has many coefficients.

    Attributes:
        coefficients: bounds of a, of shape (B, P, R, k).
        constant: as in `LinearBound`.
        magnitude: as in `LinearBound`.
        roundings: as in `LinearBound`.
    """

    coefficients: Bounds
    constant: Float64[Tensor, "B P R"]
    magnitude: Float64[Tensor, "B P R"]
    roundings: int

    @property
    def ends(self) -> Bounds:
        """Bounds of the coefficients."""
        return self.coefficients

    def settled(self, h: Bounds) -> LinearBound:
        """One coefficient for all: a* h ≥ a h − max((ā − a) max(−h̲, 0), (a − a̲) max(h̄, 0)) for a* in [a̲, ā].

        The coefficient a balances the two; where the activations have one sign it is an end, and nothing is
        lost. What is lost is rounded up, and taken from the constant with the result rounded down, so that no
        rounding is left to be charged for.

        Args:
            h: bounds of the activations, of shape (B, P, k).
        """
        low, high = self.coefficients
        falls, rises = (-h.lower).clamp(min=0.0).unsqueeze(-2), h.upper.clamp(min=0.0).unsqueeze(-2)
        balanced = torch.clamp(low + falls / (falls + rises) * (high - low), low, high)
        chosen = torch.where(falls == 0, low, torch.where(rises == 0, high, balanced))
        each = torch.maximum((high - chosen) * falls, (chosen - low) * rises)
        lost = above(each.sum(-1), each.shape[-1] + 3)
        # a product that underflows is not nothing
        free = ((chosen == high) | (falls == 0)) & ((chosen == low) | (rises == 0))
        nothing = free.all(-1)
        return LinearBound(
            chosen,
            torch.where(nothing, self.constant, down(self.constant - lost)),
            torch.where(nothing, self.magnitude, up(self.magnitude + lost)),
            self.roundings,
        )

    def least(self, x: Bounds) -> Float64[Tensor, "B P R"]:
        """A lower bound of rows · z, for inputs h = x within bounds; the constant's roundings are charged.

        Args:
            x: bounds of the network's inputs, of shape (P, k) or (B, 1, k).
        """
        zero = Bounds(torch.zeros_like(self.constant), torch.zeros_like(self.constant))
        least = affine(self.coefficients, zero, x.unsqueeze(-2)).lower.squeeze(-2)
        roundings = self.roundings + x.lower.shape[-1]
        return down(self.constant + least - rounding_error(roundings, self.magnitude + least.abs()))


def least_over_box(bound: LinearBound, weight: Bounds, x: Bounds) -> Float64[Tensor, "B P R"]:
    """A lower bound of rows · z for outputs h = W x, W and x ≥ 0 within bounds; all roundings are charged.

    The least coefficients a = A⁺W̲ + A⁻W̄ give the least value, and with Δ = x̄ − x̲ it is a·x̲ + a⁻·Δ. What it
    depends on is a sum of terms A_j w_jk x_k in any order, so that one charge covers both products: that for
    Σ_j |A_j| Σ_k max|w_jk| x̄_k, for which no coefficient is needed. A coefficient that underflows is short of
    what x multiplies: 2m such losses for each input are charged, and what underflows in Σ_k max|w_jk| x̄_k.

    Args:
        bound: linear in h.
        weight: bounds of W, of shape (B, m, k).
        x: bounds of shape (P, k) or (B, 1, k), all at least 0.
    """
    rows, (lower, upper) = bound.coefficients, weight
    boxes, properties, count, m = rows.shape
    k = lower.shape[-1]
    low, high = (end.expand(boxes, properties, k) for end in x)
    width = up(high - low)
    size = max(1, CACHED_COEFFICIENTS // (count * k))
    found = []
    for start in range(0, max(1, properties), size):
        part = slice(start, start + size)
        own = rows[:, part].flatten(1, 2)
        a = torch.baddbmm(torch.bmm(own.clamp(max=0.0), upper), own.clamp(min=0.0), lower)
        a = a.reshape(*rows[:, part].shape[:-1], k)
        value = (a @ low[:, part].unsqueeze(-1)).squeeze(-1)
        found.append(value + (a.clamp_(max=0.0) @ width[:, part].unsqueeze(-1)).squeeze(-1))
    reach = high @ torch.maximum(lower.abs(), upper.abs()).mT + k * SMALLEST_NORMAL
    magnitude = bound.magnitude + (rows.abs() @ reach.unsqueeze(-1)).squeeze(-1)
    underflow = above(2 * m * SMALLEST_NORMAL * high.sum(-1, keepdim=True), k + 2)
    error = rounding_error(bound.roundings + 2 * m + k + 16, magnitude) + underflow
    return down(bound.constant + torch.cat(found, 1) - error)


def added(bounds: Sequence[LinearBound | LooseBound]) -> LooseBound:
    """The sum of bounds that are linear in the same activations: Σ_i (a_i h + c_i) = (Σ_i a_i) h + Σ_i c_i.

    Coefficients are rounded outward. Each addition of constants is one more rounding on the way of a term.

    Args:
        bounds: at least one.

    Examples:
        >>> rows = torch.ones(1, 1, 1, 2).double()
        >>> added([LinearBound.of(rows), LinearBound.of(-3 * rows)]).ends.upper.round()
        tensor([[[[-2., -2.]]]], dtype=torch.float64)
    """
    first, *others = bounds
    constant, magnitude = first.constant, first.magnitude
    for own in others:
        constant, magnitude = constant + own.constant, magnitude + own.magnitude
    roundings = max(own.roundings for own in bounds) + len(others)
    return LooseBound(total([own.ends for own in bounds]), constant, magnitude, roundings)
