"""What is shown of a bound holds as well."""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from fedcert_check.percent import bounds, exact_bounds, percent_down, percent_up


@given(probability=st.floats(0, 1))
@example(probability=0.29)  # 0.29 * 100 rounds below 29
@example(probability=0.9999999)
@example(probability=1.0)
def test_a_bound_is_shown_rounded_down_to_a_hundredth_of_a_percent(probability: float) -> None:
    number, unit = percent_down(probability).split()
    gap = 100 * Fraction(probability) - Fraction(number)
    assert unit == "%"
    assert 0 <= gap < Fraction(1, 100)


@given(probability=st.floats(0, 1))
@example(probability=0.29)
@example(probability=0.57)
@example(probability=0.9999000000001)
@example(probability=5e-324)
def test_an_upper_bound_is_shown_rounded_up_to_a_hundredth_of_a_percent(probability: float) -> None:
    number, unit = percent_up(probability).split()
    gap = Fraction(number) - 100 * Fraction(probability)
    assert unit == "%"
    assert 0 <= gap < Fraction(1, 100)
    assert Fraction(percent_down(probability).split()[0]) <= Fraction(number)


def test_two_bounds_are_rounded_outward_and_one_stands_alone() -> None:
    assert bounds(0.50001, 0.90001) == "[50.00, 90.01]"
    assert bounds(0.50001, None) == "50.00"


@given(lower=st.floats(0, 1), upper=st.floats(0, 1))
def test_exact_bounds_have_all_digits(lower: float, upper: float) -> None:
    assert float(exact_bounds(lower, None)) == lower
    assert [float(text) for text in exact_bounds(lower, upper)[1:-1].split(", ")] == [lower, upper]
