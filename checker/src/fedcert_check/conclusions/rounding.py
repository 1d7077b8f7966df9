"""Exact numbers as floats and as texts, rounded in the direction in which they still hold."""

import math
from fractions import Fraction

from flint import arb, fmpq


def below(number: Fraction) -> float:
    """The largest float that is at most the number.

    >>> below(Fraction(1, 10)), below(Fraction(1, 4))
    (0.09999999999999999, 0.25)
    """
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def above(number: Fraction) -> float:
    """The least float that is at least the number.

    >>> above(Fraction(1, 10)), above(Fraction(1, 4))
    (0.1, 0.25)
    """
    return -below(-number)


def ball(number: Fraction) -> arb:
    """A ball that holds the number."""
    return arb(fmpq(number.numerator, number.denominator))


def mean(values: tuple[float, ...]) -> Fraction:
    """The mean of floats, without rounding."""
    return sum(map(Fraction, values), Fraction(0)) / len(values)


def level(probability: Fraction) -> str:
    """A probability that is a short decimal number, in per cent.

    >>> level(Fraction("0.95")), level(Fraction("0.999"))
    ('95 %', '99.9 %')
    """
    percent = probability * 100
    return f"{percent.numerator} %" if percent.denominator == 1 else f"{float(percent)!r} %"
