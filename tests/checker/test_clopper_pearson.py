"""Exact confidence limits: sound by rational arithmetic, close to the quantiles, covering at their level."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from fedcert_check import clopper_pearson
from fedcert_check.clopper_pearson import clopper_pearson_lower, clopper_pearson_upper


def binomial_tail(k: int, n: int, p: Fraction) -> Fraction:
    """Pr(X ≥ k), without rounding."""
    return sum((math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), Fraction(0))


@given(st.integers(1, 40), st.integers(0, 40), st.floats(1e-12, 0.999))
def test_limits_hold_in_rational_arithmetic(n: int, k: int, alpha: float) -> None:
    k = min(k, n)
    lower, upper = clopper_pearson_lower(k, n, alpha), clopper_pearson_upper(k, n, alpha)
    assert 0 <= lower <= 1
    assert 0 <= upper <= 1
    assert lower == 0 if k == 0 else binomial_tail(k, n, Fraction(lower)) <= Fraction(alpha)
    assert upper == 1 if k == n else 1 - binomial_tail(k + 1, n, Fraction(upper)) <= Fraction(alpha)


@pytest.mark.parametrize(
    ("n", "k"), [(10, 3), (10_000, 1), (10_000, 5_000), (10_000, 9_999), (10**6, 999_000)]
)
@pytest.mark.parametrize("alpha", [0.025, 2.5e-4, 1e-9])
def test_nothing_is_lost_against_the_quantiles(n: int, k: int, alpha: float) -> None:
    assert clopper_pearson_lower(k, n, alpha) == pytest.approx(beta.ppf(alpha, k, n - k + 1), rel=1e-9)
    assert clopper_pearson_upper(k, n, alpha) == pytest.approx(beta.isf(alpha, k + 1, n - k), rel=1e-9)


def test_a_fraction_is_a_level_without_rounding() -> None:
    third = Fraction(1, 3)
    assert Fraction(clopper_pearson_lower(7, 7, third)) ** 7 <= third
    assert Fraction(math.nextafter(clopper_pearson_lower(7, 7, third), 1)) ** 7 > third


@pytest.mark.parametrize(("n", "p"), [(5, 0.3), (30, 0.98), (60, 0.5)])
def test_the_share_of_misses_is_at_most_the_level(n: int, p: float) -> None:
    truth, alpha = Fraction(p), Fraction(1, 20)
    mass = [math.comb(n, k) * truth**k * (1 - truth) ** (n - k) for k in range(n + 1)]
    assert sum(m for k, m in enumerate(mass) if clopper_pearson_lower(k, n, alpha) > truth) <= alpha
    assert sum(m for k, m in enumerate(mass) if clopper_pearson_upper(k, n, alpha) < truth) <= alpha


def test_an_unknown_tail_leaves_nothing_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clopper_pearson, "_tail", lambda p, k, n: clopper_pearson.arb("nan"))
    clopper_pearson._limit.cache_clear()
    try:
        assert clopper_pearson_lower(3, 17, 0.05) == 0
    finally:
        clopper_pearson._limit.cache_clear()


@pytest.mark.parametrize(
    ("k", "n", "alpha"), [(-1, 3, 0.1), (4, 3, 0.1), (0, 0, 0.1), (1, 3, 0.0), (1, 3, 1.0)]
)
def test_counts_and_levels_that_mean_nothing_are_refused(k: int, n: int, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"draws|level"):
        clopper_pearson_lower(k, n, alpha)
    with pytest.raises(ValueError, match=r"draws|level"):
        clopper_pearson_upper(k, n, alpha)
