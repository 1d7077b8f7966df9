import math

import pytest
import torch
from balls import precision
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from oracles import normal_cdf

from fedcert.numerics.gaussian import log_mass_lower, log_mass_upper, tail_lower, tail_upper

Z = st.one_of(
    st.floats(-45, 45), st.floats(-1e-3, 1e-3), st.sampled_from([0.0, 37.5, 38.4, 38.6, 40.0, 44.0])
)


@pytest.fixture(autouse=True)
def many_digits():
    with precision(4000):
        yield


def scalar(function, *arguments: float) -> float:
    return function(*(torch.tensor(a, dtype=torch.float64) for a in arguments)).item()


@given(Z.map(abs))
def test_the_tail_lies_between_its_bounds(z: float) -> None:
    truth = normal_cdf(-arb(z))
    low, high = scalar(tail_lower, z), scalar(tail_upper, z)
    assert arb(low) <= truth <= arb(high)
    assert z > 35 or arb(high) - arb(low) <= truth * 1e-10


@given(Z, Z)
def test_the_log_mass_lies_between_its_bounds(x: float, y: float) -> None:
    a, b = min(x, y), max(x, y)
    low, high = scalar(log_mass_lower, a, b), scalar(log_mass_upper, a, b)
    assert low <= high <= 0
    if a < b:
        truth = (normal_cdf(arb(b)) - normal_cdf(arb(a))).log()
        assert low == -math.inf or arb(low) <= truth
        assert truth <= arb(high)
    else:
        assert low == -math.inf


@pytest.mark.parametrize(("a", "b"), [(-7, 7), (-3, 8), (-1e-3, 1e-3), (2, 2.5), (-9, -8), (20, 30)])
def test_the_bounds_are_tight_near_and_far_from_the_mean(a: float, b: float) -> None:
    truth = float((normal_cdf(arb(b)) - normal_cdf(arb(a))).log())
    assert scalar(log_mass_lower, a, b) == pytest.approx(truth, rel=1e-9)
    assert scalar(log_mass_upper, a, b) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [(math.nan, 1), (-1, math.nan), (math.nan, math.nan), (1, -1)])
def test_nan_and_empty_intervals_claim_nothing(a: float, b: float) -> None:
    assert scalar(log_mass_lower, a, b) == -math.inf
    assert scalar(log_mass_upper, a, b) == 0.0


def test_nan_beside_good_coordinates_claims_nothing() -> None:
    a = torch.tensor([-7.0, math.nan], dtype=torch.float64)
    b = torch.tensor([7.0, 7.0], dtype=torch.float64)
    low = log_mass_lower(a, b)
    assert low[0] > -1e-10
    assert low[1] == -math.inf


def test_infinite_end_points_hold_all_the_mass() -> None:
    assert scalar(log_mass_lower, -math.inf, math.inf) == pytest.approx(0.0, abs=1e-300)
