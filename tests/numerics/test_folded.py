"""The mean of a folded normal, from above, in ball arithmetic."""

import math

import pytest
from balls import exact_folded_mean, precision
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from problems import vector

from fedcert.numerics.folded import FAR, ROUNDINGS, folded_mean
from fedcert.numerics.rounding import above

SIZES = st.one_of(st.floats(0, 1e3), st.floats(1e-300, 1e-100), st.floats(1e100, 1e200))


@given(SIZES, SIZES)
def test_the_mean_is_bounded_from_above(mean: float, deviation: float) -> None:
    found = above(folded_mean(vector(mean), vector(deviation)), ROUNDINGS).item()
    with precision(2000):
        assert arb(found) >= exact_folded_mean(arb(mean), arb(deviation))


@given(st.floats(0, 20))
def test_the_bound_is_near_the_mean_and_not_above_the_triangle_inequality(nu: float) -> None:
    found = folded_mean(vector(nu), vector(1.0)).item()
    with precision(200):
        truth = exact_folded_mean(arb(nu), arb(1))
        excess = truth - nu
        assert nu > FAR or found - truth <= 0.13 * excess + 1e-14
    assert found <= (nu + math.sqrt(2 / math.pi)) * (1 + 1e-12)


@pytest.mark.parametrize(("mean", "deviation"), [(math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0)])
def test_what_is_not_finite_is_not_bounded(mean: float, deviation: float) -> None:
    assert not math.isfinite(folded_mean(vector(mean), vector(deviation)).item())


def test_without_noise_it_is_the_number_itself() -> None:
    assert folded_mean(vector(3.0), vector(0.0)).item() == pytest.approx(3.0, rel=1e-15)
