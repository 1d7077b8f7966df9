"""The mean of a folded normal in balls: above the closed form for every number of the balls, and near it."""

import numpy as np
import pytest
from balls import array, between, exact_folded_mean, precision
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.projected.folded import folded_mean, folded_means

SIZES = st.one_of(st.floats(-1e3, 1e3), st.floats(1e-300, 1e-100), st.floats(1e100, 1e200))


@given(SIZES, SIZES.map(abs))
def test_the_mean_is_bounded_from_above(mean: float, deviation: float) -> None:
    with precision(2000):
        found = folded_mean(arb(mean), arb(deviation))
        assert found >= exact_folded_mean(arb(mean), arb(deviation))


@given(st.floats(0, 8))
def test_the_bound_is_near_the_mean(nu: float) -> None:
    with precision(200):
        truth = exact_folded_mean(arb(nu), arb(1))
        assert folded_mean(arb(nu), arb(1)) - truth <= 0.13 * (truth - nu) + 1e-30


@pytest.mark.parametrize("mean", [between(-1, 2), between(1, 2), between(-4, -3.5)])
@pytest.mark.parametrize("deviation", [between(0, 1), between(0.5, 2), between(1e-9, 1e-8)])
def test_it_holds_for_every_number_of_two_balls(mean: arb, deviation: arb) -> None:
    found = folded_mean(mean, deviation)
    for m in np.linspace(float(mean.lower()), float(mean.upper()), 7):
        for r in np.linspace(max(0.0, float(deviation.lower())), float(deviation.upper()), 7):
            assert found.upper() >= exact_folded_mean(arb(float(m)), arb(float(r)))


@pytest.mark.parametrize(("mean", "deviation"), [("nan", 1), (1, "nan"), ("inf", 1), (1, "inf")])
def test_what_is_not_finite_proves_nothing(mean: object, deviation: object) -> None:
    assert not folded_mean(arb(mean), arb(deviation)).is_finite()


def test_entry_by_entry() -> None:
    found = folded_means(array(3, -3), array(0, 1))
    assert found[0] == 3
    assert found[1] > 3
