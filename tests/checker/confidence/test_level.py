"""The level of a confidence bound is never said to be higher than it is."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.confidence.level import allowed, confidence_of, confidence_words

BETAS = st.floats(min_value=5e-324, max_value=1.0, exclude_max=True)


@given(BETAS)
def test_what_is_said_is_at_most_what_holds(beta: float) -> None:
    exact = 1 - allowed(beta)
    assert Fraction(repr(confidence_of(beta))) <= exact
    assert Fraction(confidence_words(exact).removesuffix(" %")) <= 100 * exact
    assert Fraction(confidence_words(confidence_of(beta)).removesuffix(" %")) <= 100 * exact


@given(BETAS)
def test_certainty_is_never_said(beta: float) -> None:
    assert confidence_of(beta) < 1
    assert confidence_words(1 - allowed(beta)) != "100 %"


@given(st.integers(1, 9999))
def test_short_decimals_are_said_to_the_last_digit(per_myriad: int) -> None:
    beta = per_myriad / 10_000
    assert allowed(beta) == Fraction(per_myriad, 10_000)
    assert Fraction(confidence_words(1 - allowed(beta)).removesuffix(" %")) == 100 - Fraction(per_myriad, 100)
