from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import vector
from scipy.stats import binomtest

from fedcert.certificate import Certificate, Claim, Estimate, clopper_pearson
from fedcert.errors import FedcertError

CLAIM = Claim("direct", "fedavg", "paper-box")


def estimate(*successes: int, samples: int = 10) -> Estimate:
    return Estimate("mc-ibp", "fedavg", torch.tensor(successes), samples)


OUTSIDE = [-1e-300, -1.0, 1.0 + 2**-52, float("inf"), float("nan")]


@pytest.mark.parametrize("bad", OUTSIDE)
def test_a_lower_bound_outside_the_unit_interval_is_no_certificate(bad: float) -> None:
    with pytest.raises(ArithmeticError, match="direct"):
        Certificate(CLAIM, vector(0.5, bad))


@pytest.mark.parametrize("bad", [*OUTSIDE, 0.25], ids=[*map(str, OUTSIDE), "below the lower bound"])
def test_an_upper_bound_outside_the_unit_interval_is_no_certificate(bad: float) -> None:
    with pytest.raises(ArithmeticError, match="direct"):
        Certificate(CLAIM, vector(0.5, 0.5), vector(1.0, bad))


def test_bounds_of_zero_and_one_are_allowed() -> None:
    certificate = Certificate(CLAIM, vector(0.0, 1.0), vector(1.0, 1.0))
    assert 0 < certificate.mean_lower <= 0.5


@given(bounds=st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(deadline=None)
def test_the_mean_is_a_lower_bound_of_the_exact_mean_and_close_to_it(bounds: list[float]) -> None:
    mean = Certificate(CLAIM, vector(*bounds)).mean_lower
    exact = sum(map(Fraction, bounds)) / len(bounds)
    assert 0 <= Fraction(mean) <= exact
    assert exact - Fraction(mean) <= 1e-13


@given(bounds=st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(deadline=None)
def test_the_mean_is_an_upper_bound_of_the_exact_mean_and_close_to_it(bounds: list[float]) -> None:
    mean = Certificate(CLAIM, vector(*[0.0] * len(bounds)), vector(*bounds)).mean_upper
    assert mean is not None
    exact = sum(map(Fraction, bounds)) / len(bounds)
    assert exact <= Fraction(mean) <= 1
    assert Fraction(mean) - exact <= 1e-13


def test_without_upper_bounds_there_is_no_mean_of_them() -> None:
    assert Certificate(CLAIM, vector(0.5)).mean_upper is None


def test_a_certificate_says_its_bounds_rounded_outward() -> None:
    lower = Certificate(CLAIM, vector(0.12345, 0.12345))
    assert str(lower) == "direct (fedavg, paper-box): at least 12.34 %, mean over 2 properties"
    both = Certificate(Claim("direct", "pog", "projected"), vector(0.12345), vector(0.54321))
    assert str(both) == (
        "direct (pog, projected): at least 12.34 % and at most 54.33 %, mean over 1 properties"
    )


def test_an_estimate_has_no_lower_bound() -> None:
    assert not hasattr(estimate(5), "lower")
    assert not hasattr(estimate(5), "mean_lower")


@pytest.mark.parametrize("successes", [-1, 11])
def test_an_estimate_counts_within_its_samples(successes: int) -> None:
    with pytest.raises(FedcertError, match="mc-ibp"):
        estimate(5, successes)


@given(successes=st.lists(st.integers(0, 10), min_size=1, max_size=5))
@settings(deadline=None)
def test_the_value_of_an_estimate_is_the_mean_rate_and_inside_its_interval(successes: list[int]) -> None:
    value = estimate(*successes).value
    assert value == pytest.approx(sum(successes) / (10 * len(successes)))
    low, high = estimate(*successes).confidence_interval()
    wider_low, wider_high = estimate(*successes).confidence_interval(0.999)
    assert 0 <= wider_low <= low <= value <= high <= wider_high <= 1


def test_the_interval_of_one_property_is_clopper_pearsons_and_more_properties_widen_it() -> None:
    assert estimate(4).confidence_interval(0.9) == clopper_pearson(4, 10, 0.9)
    (low, high), (low_3, high_3) = estimate(4).confidence_interval(), estimate(4, 4, 4).confidence_interval()
    assert low_3 < low
    assert high < high_3


@given(
    counts=st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    confidence=st.floats(0.5, 0.9999),
)
@settings(deadline=None)
def test_clopper_pearson_agrees_with_scipy(counts: tuple[int, int], confidence: float) -> None:
    expected = binomtest(*counts).proportion_ci(confidence, method="exact")
    assert clopper_pearson(*counts, confidence) == pytest.approx((expected.low, expected.high), abs=1e-9)
