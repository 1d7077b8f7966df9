"""Enclosures: real numbers between two floats, with every operation rounded outward.

Tails, distances, masses and sums of failure probabilities go through this type, so that a bound is right by
construction: a clamp, a sign that is not decided or a division by something near zero makes an enclosure
wider, never wrong. Large products are charged by hand instead (`numerics`), since two ends cost twice.
"""

import math
from dataclasses import dataclass
from functools import reduce

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.numerics.rounding import down, exp_down, exp_up, log_down, log_up, sum_down, sum_up, up

LARGEST_SHIFT = 1000  # bits by which numbers are scaled, so that squares neither over- nor underflow


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Real numbers x with lower ≤ x ≤ upper, one for each entry; an infinite end bounds nothing.

    For every operation ∘ and all real numbers x of X and y of Y, x ∘ y lies in X ∘ Y wherever it is defined.
    What is not a number bounds nothing.

    Attributes:
        lower: the lower ends.
        upper: the upper ends.

    Examples:
        >>> distance, deviation = Enclosure.exactly(-1.0), Enclosure.between(0.0, 2.0)
        >>> distance / deviation < 0.0, (distance / deviation).lower.item()
        (tensor(True), -inf)
    """

    lower: Float64[Tensor, "*shape"]
    upper: Float64[Tensor, "*shape"]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", self.lower.nan_to_num(-math.inf, math.inf, -math.inf))
        object.__setattr__(self, "upper", self.upper.nan_to_num(math.inf, math.inf, -math.inf))

    @classmethod
    def _of(cls, lower: Float64[Tensor, "*shape"], upper: Float64[Tensor, "*shape"]) -> "Enclosure":
        """Ends of which each is a number; one tensor for both where the numbers are known exactly."""
        own = object.__new__(cls)
        object.__setattr__(own, "lower", lower)
        object.__setattr__(own, "upper", upper)
        return own

    @classmethod
    def exactly(cls, x: "Number") -> "Enclosure":
        """The floats themselves, each a real number; NaN and infinity are none."""
        value = x if isinstance(x, Tensor) else torch.tensor(x, dtype=torch.float64)
        finite = value.isfinite()
        if finite.all():
            return cls._of(value, value)
        return cls._of(torch.where(finite, value, -math.inf), torch.where(finite, value, math.inf))

    @classmethod
    def between(cls, lower: "Number", upper: "Number") -> "Enclosure":
        """Numbers that are known to lie between two floats.

        Args:
            lower: their lower ends.
            upper: their upper ends.
        """
        ends = (
            end if isinstance(end, Tensor) else torch.tensor(end, dtype=torch.float64)
            for end in (lower, upper)
        )
        return cls(*torch.broadcast_tensors(*ends))

    @classmethod
    def around(cls, value: Float64[Tensor, "*shape"], error: Float64[Tensor, "*shape"]) -> "Enclosure":
        """Numbers within a charged error of what floating point found.

        Args:
            value: what was computed.
            error: at least |x − value|; what is not finite bounds nothing.
        """
        known = value.isfinite()
        low, high = down(value - error), up(value + error)
        return cls(torch.where(known, low, -math.inf), torch.where(known, high, math.inf))

    @classmethod
    def stack(cls, parts: "list[Enclosure]") -> "Enclosure":
        """Enclosures of one shape, side by side along a new last axis."""
        return cls(
            torch.stack([part.lower for part in parts], dim=-1),
            torch.stack([part.upper for part in parts], dim=-1),
        )

    def __getitem__(self, index: object) -> "Enclosure":
        return Enclosure._of(self.lower[index], self.upper[index])  # type: ignore[index]

    def __neg__(self) -> "Enclosure":
        return Enclosure._of(-self.upper, -self.lower)

    def __add__(self, other: "Operand") -> "Enclosure":
        y = enclosed(other)
        return Enclosure(down(self.lower + y.lower), up(self.upper + y.upper))

    def __sub__(self, other: "Operand") -> "Enclosure":
        y = enclosed(other)
        return Enclosure(down(self.lower - y.upper), up(self.upper - y.lower))

    def __rsub__(self, other: "Number") -> "Enclosure":
        return enclosed(other) - self

    def __mul__(self, other: "Operand") -> "Enclosure":
        y = enclosed(other)
        ends = [_product(a, b) for a in self._ends for b in y._ends]
        return Enclosure._of(down(reduce(torch.minimum, ends)), up(reduce(torch.maximum, ends)))

    def __truediv__(self, other: "Operand") -> "Enclosure":
        """All quotients x / y with y ≠ 0.

        A divisor that is known not to be negative keeps the sign of the quotient; one of unknown sign
        bounds nothing.
        """
        y = enclosed(other)
        negative = y.upper <= 0
        low, high = torch.where(negative, -y.upper, y.lower), torch.where(negative, -y.lower, y.upper)
        # 0 + 0 is never −0, which would give the quotient the wrong sign
        ends = [_quotient(a, b + 0.0) for a in self._ends for b in (low, high)]
        signed = (low >= 0) & (high > 0)
        least = torch.where(signed, down(reduce(torch.minimum, ends)), -math.inf)
        most = torch.where(signed, up(reduce(torch.maximum, ends)), math.inf)
        return Enclosure(torch.where(negative, -most, least), torch.where(negative, -least, most))

    __radd__ = __add__
    __rmul__ = __mul__

    def __le__(self, other: "Operand") -> Tensor:
        """Whether x ≤ y is proven."""
        return self.upper <= enclosed(other).lower

    def __lt__(self, other: "Operand") -> Tensor:
        """Whether x < y is proven."""
        return self.upper < enclosed(other).lower

    def __ge__(self, other: "Operand") -> Tensor:
        """Whether x ≥ y is proven."""
        return self.lower >= enclosed(other).upper

    def __gt__(self, other: "Operand") -> Tensor:
        """Whether x > y is proven."""
        return self.lower > enclosed(other).upper

    def where(self, chosen: Tensor, other: "Operand") -> "Enclosure":
        """These numbers where chosen, the others elsewhere."""
        y = enclosed(other)
        return Enclosure._of(
            torch.where(chosen, self.lower, y.lower), torch.where(chosen, self.upper, y.upper)
        )

    def clamp(self, least: float = -math.inf, most: float = math.inf) -> "Enclosure":
        """min(max(x, least), most)."""
        return Enclosure._of(self.lower.clamp(least, most), self.upper.clamp(least, most))

    def minimum(self, other: "Operand") -> "Enclosure":
        """The lesser of x and y."""
        y = enclosed(other)
        return Enclosure._of(torch.minimum(self.lower, y.lower), torch.minimum(self.upper, y.upper))

    @property
    def _ends(self) -> tuple[Tensor, ...]:
        """The ends, once where they are the same."""
        return (self.lower,) if self.lower is self.upper else (self.lower, self.upper)

    def size(self) -> "Enclosure":
        """|x|."""
        crosses = (self.lower <= 0) & (self.upper >= 0)
        low, high = self.lower.abs(), self.upper.abs()
        return Enclosure(torch.where(crosses, 0.0, torch.minimum(low, high)), torch.maximum(low, high))

    def square(self) -> "Enclosure":
        """x²."""
        size = self.size()
        return Enclosure(down(size.lower * size.lower).clamp(min=0.0), up(size.upper * size.upper))

    def sqrt(self) -> "Enclosure":
        """√x of numbers that are not negative, though their lower ends may be."""
        known = self.upper >= 0
        high = torch.where(known, up(self.upper.clamp(min=0.0).sqrt()), math.inf)
        return Enclosure(down(self.lower.clamp(min=0.0).sqrt()).clamp(min=0.0), high)

    def exp(self) -> "Enclosure":
        """e^x."""
        return Enclosure(exp_down(self.lower), exp_up(self.upper))

    def log(self) -> "Enclosure":
        """The logarithm of numbers that are positive, though their lower ends may not be."""
        return Enclosure(log_down(self.lower.clamp(min=0.0)), log_up(self.upper))

    def sum(self) -> "Enclosure":
        """Σ x over the last axis."""
        return Enclosure(sum_down(self.lower), sum_up(self.upper))

    def mean(self) -> "Enclosure":
        """The mean over the last axis."""
        return self.sum() / self.lower.shape[-1]

    def norm(self) -> "Enclosure":
        """√Σ x² over the last axis, whatever the magnitude of x: the largest is brought near 1 first."""
        largest = self.size().upper.amax(-1)
        shift = torch.frexp(largest).exponent.clamp(-LARGEST_SHIFT, LARGEST_SHIFT).to(largest.dtype)
        unit = torch.exp2(shift)
        return ((self / unit.unsqueeze(-1)).square().sum().sqrt() * unit).clamp(least=0.0)


Number = int | float | Float64[Tensor, "*shape"]
Operand = Enclosure | Number


def enclosed(x: Operand) -> Enclosure:
    """A float as the number that it is; an enclosure as itself."""
    return x if isinstance(x, Enclosure) else Enclosure.exactly(x)


def _product(a: Float64[Tensor, "*a"], b: Float64[Tensor, "*b"]) -> Float64[Tensor, "*c"]:
    """The product of two ends; that of 0 and an infinite end, NaN, is 0, since no number is infinite."""
    return (a * b).nan_to_num(0.0, math.inf, -math.inf)


def _quotient(a: Float64[Tensor, "*a"], b: Float64[Tensor, "*b"]) -> Float64[Tensor, "*c"]:
    """The quotient of two ends; that of 0 is 0, since the divisor is not."""
    return torch.where(a == 0, 0.0, a / b)
