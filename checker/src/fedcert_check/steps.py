"""The layers of a network with their parameters within bounds: images of intervals, and lines carried back.

All end points are exact numbers, rounded outward to 128 bits after each step.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from fedcert_check.balls import (
    Balls,
    Interval,
    lower,
    matmul,
    negative,
    positive,
    upper,
    zeros,
)


class Carried(NamedTuple):
    """A y ≥ a h + c for the outputs y of a layer, all h within bounds, and some a between its ends.

    Attributes:
        coefficients: the ends of a; the same numbers where there is nothing to choose.
        constant: c.
    """

    coefficients: Interval
    constant: Balls


@runtime_checkable
class Step(Protocol):
    """One layer."""

    @property
    def bends(self) -> bool:
        """Whether what it carries back depends on how tight the bounds of its inputs are."""
        ...

    @property
    def elementwise(self) -> bool:
        """Whether it is a function of one number: then bounds of its inputs are as good as of its outputs."""
        ...

    def image(self, h: Interval) -> Interval:
        """Bounds of the outputs."""
        ...

    def back(self, rows: Balls, h: Interval, rising: bool) -> Carried:
        """From a lower bound that is linear in the outputs to one that is linear in the inputs.

        Args:
            rows: A.
            h: bounds of the inputs.
            rising: which line is taken where two are about as good.
        """
        ...

    def tied(self, h: Interval) -> bool:
        """Whether there are two such lines."""
        ...


class Affine(NamedTuple):
    """W h + b, with W of shape (m, k) and b of shape (m,) within bounds."""

    weight: Interval
    bias: Interval

    @property
    def bends(self) -> bool:
        """It does not."""
        return False

    @property
    def elementwise(self) -> bool:
        """It is not."""
        return False

    def image(self, h: Interval) -> Interval:
        """Exact scalar products, added up."""
        low = least(self.weight, h) + self.bias.lower
        high = self.bias.upper - least(-self.weight, h)
        return Interval(lower(low), upper(high))

    def back(self, rows: Balls, h: Interval, rising: bool) -> Carried:
        """A W lies between two corners; where all h ≥ 0 the least gives the least value."""
        constant = matmul(positive(rows), self.bias.lower) + matmul(negative(rows), self.bias.upper)
        low = corner(rows, self.weight)
        signed = any(bool(v < 0) for v in h.lower.tolist())
        return Carried(Interval(low, -corner(-rows, self.weight) if signed else low), constant)

    def tied(self, h: Interval) -> bool:
        """There are no lines."""
        return False


class Sum(NamedTuple):
    """The sum of what chains of layers make of the same h; a chain without layers is h itself."""

    chains: tuple[tuple[Step, ...], ...]

    @property
    def bends(self) -> bool:
        """An addition does not; layers inside say for themselves."""
        return False

    @property
    def elementwise(self) -> bool:
        """It is not."""
        return False

    def image(self, h: Interval) -> Interval:
        """The sum of the chains' bounds."""
        ends = []
        for chain in self.chains:
            value = h
            for step in chain:
                value = step.image(value)
            ends.append(value)
        return added(ends)


def added(summands: Sequence[Interval]) -> Interval:
    """Bounds of a sum."""
    low = sum((own.lower for own in summands[1:]), summands[0].lower)
    high = sum((own.upper for own in summands[1:]), summands[0].upper)
    return Interval(lower(low), upper(high))


def least(weight: Interval, x: Interval) -> Balls:
    """The least W x, row by row: Σ_k of the least product of w_k and x_k.

    That is w̲⁺x̲⁺ + w̲⁻x̄⁺ + w̄⁺x̲⁻ + w̄⁻x̄⁻, and where w and x both straddle zero only one of the second and third
    terms counts, so the smaller in absolute value is given back.
    """
    value = matmul(positive(weight.lower), positive(x.lower))
    value = value + matmul(negative(weight.lower), positive(x.upper))
    signed = np.array([bool(v < 0) for v in x.lower.tolist()])
    if signed.any():
        value = value + matmul(positive(weight.upper), negative(x.lower))
        value = value + matmul(negative(weight.upper), negative(x.upper))
        one = -negative(weight.lower[:, signed]) * positive(x.upper[signed])
        other = positive(weight.upper[:, signed]) * -negative(x.lower[signed])
        value = value + np.minimum(lower(one), lower(other)).sum(1)
    return lower(value)


def corner(rows: Balls, weight: Interval) -> Balls:
    """The least A W, entry by entry: A⁺W̲ + A⁻W̄."""
    return lower(matmul(positive(rows), weight.lower) + matmul(negative(rows), weight.upper))


def settle(coefficients: Interval, h: Interval) -> tuple[Balls, Balls]:
    """One a for all a* between the ends, and what is lost: a* h ≥ a h − max((ā − a) h⁻, (a − a̲) h⁺).

    Here h⁻ is max(−h̲, 0) and h⁺ is max(h̄, 0). Where h has one sign, a is an end and nothing is lost.

    Args:
        coefficients: the ends, of shape (R, k).
        h: bounds of the k activations.
    """
    low, high = coefficients
    chosen = low.copy()
    signed = np.flatnonzero([bool(v < 0) for v in h.lower.tolist()])
    if low is high or len(signed) == 0:
        return chosen, zeros(len(low))
    falls, rises = -h.lower[signed], positive(h.upper[signed])
    least_a, greatest_a = low[:, signed], high[:, signed]
    share = np.array([(f / (f + r)).mid() for f, r in zip(falls, rises, strict=True)], dtype=object)
    balanced = lower(least_a + share * (greatest_a - least_a))
    balanced = np.minimum(np.maximum(balanced, least_a), greatest_a)
    own = np.where([bool(r == 0) for r in rises], greatest_a, balanced)
    chosen[:, signed] = own
    each = np.maximum(upper((greatest_a - own) * falls), upper((own - least_a) * rises))
    return chosen, each.sum(1)
