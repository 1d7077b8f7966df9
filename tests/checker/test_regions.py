from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.errors import InvalidCertificate
from fedcert_check.properties import Properties
from fedcert_check.regions import at_most, outward, require_regions

numbers = st.floats(0, 1e200)


@given(st.floats(-1, 1), st.floats(-1, 1), st.integers(-2, 2))
def test_sums_are_compared_exactly(x: float, y: float, steps: int) -> None:
    bound = x + y
    for _ in range(abs(steps)):
        bound = float(np.nextafter(bound, np.inf if steps > 0 else -np.inf))
    exact = Fraction(bound) <= Fraction(x) + Fraction(y)
    assert bool(at_most(*(np.array([v]) for v in (bound, x, y)))[0]) == exact


@given(numbers, numbers)
def test_a_ball_reaches_at_least_the_product_and_nowhere_if_that_is_nothing(
    radius: float, weight: float
) -> None:
    reach = float(outward(np.array([[radius]]), np.array([[weight]]))[0, 0])
    exact = Fraction(radius) * Fraction(weight)
    assert reach == float("inf") or Fraction(reach) >= exact
    assert (reach == 0) == (exact == 0)


def test_without_limits_nothing_is_cut() -> None:
    asked = Properties(np.array([[-3.0]]), np.array([[5.0]]), np.ones((1, 1, 2)), np.zeros((1, 1)))
    require_regions(asked, (np.array([[1.0]]), np.array([[1.0]])), np.array([[4.0]]), None)
    with pytest.raises(InvalidCertificate, match="does not contain"):
        require_regions(asked, (np.array([[1.0]]), np.array([[1.0]])), np.array([[np.inf]]), None)
