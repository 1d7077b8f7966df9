"""Exact numbers become floats on the side on which they hold."""

from fractions import Fraction
from math import inf, nextafter

from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.conclusions.rounding import above, ball, below, level


@given(st.fractions(0, 1))
def test_the_nearest_float_on_either_side(number: Fraction) -> None:
    assert Fraction(below(number)) <= number < Fraction(nextafter(below(number), inf))
    assert Fraction(nextafter(above(number), -inf)) < number <= Fraction(above(number))
    assert ball(number).contains(ball(number).mid())
    assert (ball(number) * number.denominator).contains(number.numerator)


def test_levels_are_short() -> None:
    assert [level(Fraction(text)) for text in ("0.5", "0.05", "0.975", "0.001")] == [
        "50 %", "5 %", "97.5 %", "0.1 %",
    ]  # fmt: skip
