"""The limit of a mean: coverage, monotony, and comparison with other limits."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from fedcert_check.conclusions.betting import BETS, capital, mean_limit

BETA = Fraction(1, 20)
REPETITIONS = 2000
MOST_MISSES = int(binom.ppf(0.999, REPETITIONS, 0.05))
LAWS: dict[str, tuple[float, Callable[..., np.ndarray]]] = {
    "beta(0.5, 0.2)": (0.5 / 0.7, lambda rng, size: rng.beta(0.5, 0.2, size)),
    "beta(8, 2)": (0.8, lambda rng, size: rng.beta(8, 2, size)),
    "0 or 1": (0.75, lambda rng, size: (rng.random(size) < 0.75) * 1.0),
    "0 or 1, nearly all 1": (0.98, lambda rng, size: (rng.random(size) < 0.98) * 1.0),
    "0 or 0.1, rarely": (0.002, lambda rng, size: (rng.random(size) < 0.02) * 0.1),
}


def limit(values: np.ndarray | list[float]) -> float:
    return mean_limit([arb(float(value)) for value in values], BETA)


def fast_capital(values: np.ndarray, mean: float) -> np.ndarray:
    """The capital after each row of values, in floating point."""
    boldness = math.sqrt(2 * math.log(20) / values.shape[1] * mean / (1 - mean))
    stakes = [(float(share), min(1.0, times * boldness)) for share, times in BETS]
    return sum(share * (1 - c + c * values / mean).prod(1) for share, c in stakes)


def empirical_bernstein(values: np.ndarray) -> float:
    """Maurer and Pontil (2009), theorem 4."""
    n, log = len(values), math.log(2 / 0.05)
    return values.mean() - math.sqrt(2 * values.var(ddof=1) * log / n) - 7 * log / (3 * (n - 1))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [10, 60, 300])
def test_at_most_one_in_twenty_limits_is_wrong(law: str, count: int) -> None:
    """A limit exceeds the mean if and only if the capital against the mean is at least 20."""
    mean, draw = LAWS[law]
    values = draw(np.random.default_rng(count), (REPETITIONS, count))
    wrong = fast_capital(values, mean) >= 20
    assert wrong.sum() <= MOST_MISSES
    for row in (*values[:4], *values[wrong][:4]):
        assert float(capital([arb(v) for v in row], Fraction(mean), BETA)) == pytest.approx(
            fast_capital(row[None], mean)[0]
        )
    for row, misses in zip((*values[:4], *values[wrong][:4]), (*wrong[:4], *wrong[wrong][:4]), strict=True):
        assert (limit(row) > mean) == misses


@pytest.mark.slow
@pytest.mark.parametrize("law", ["beta(8, 2)", "0 or 1"])
def test_the_limits_themselves_cover(law: str) -> None:
    mean, draw = LAWS[law]
    values = draw(np.random.default_rng(0), (REPETITIONS, 12))
    assert sum(limit(row) > mean for row in values) <= MOST_MISSES


def test_the_level_is_nearly_used_up() -> None:
    """A bound that never misses would pass every test of coverage; two-valued samples come near the level."""
    values = (np.random.default_rng(0).random((20_000, 300)) < 0.75) * 1.0
    assert (fast_capital(values, 0.75) >= 20).mean() > 0.005


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.data())
@settings(max_examples=50)
def test_the_limit_grows_with_each_value_in_any_order(values: list[float], data: st.DataObject) -> None:
    raised = [data.draw(st.floats(value, 1)) for value in values]
    found = limit(values)
    assert 0 <= found <= max(sum(map(Fraction, values)) / len(values), 0)
    assert found <= limit(data.draw(st.permutations(raised)))


def test_empirical_bernstein_does_not_grow_with_each_value() -> None:
    """Why it is not used: lower bounds of the observations may not stand for them."""
    values = np.full(200, 0.6)
    raised = values.copy()
    raised[0] = 1.0
    assert empirical_bernstein(raised) < empirical_bernstein(values)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.fractions("0.001", "0.998"),
    st.fractions("0.0001", "0.001"),
)
def test_the_capital_falls_as_the_mean_grows(values: list[float], mean: Fraction, more: Fraction) -> None:
    balls = [arb(value) for value in values]
    assert not capital(balls, mean, BETA) < capital(balls, mean + more, BETA)


@pytest.mark.parametrize("count", [10, 50, 1000])
def test_only_ones_and_only_zeros(count: int) -> None:
    assert limit([0.0] * count) == 0
    best = 0.05 ** (1 / count)  # with this probability there are only ones, if the mean is the limit
    assert best - 2**-31 <= limit([1.0] * count) <= best


@pytest.mark.parametrize("law", ["beta(0.5, 0.2)", "beta(8, 2)", "0 or 1", "0 or 1, nearly all 1"])
@pytest.mark.parametrize("count", [50, 200])
def test_it_beats_hoeffding_and_empirical_bernstein(law: str, count: int) -> None:
    values = LAWS[law][1](np.random.default_rng(2), count)
    assert limit(values) > values.mean() - math.sqrt(math.log(20) / (2 * count))
    assert limit(values) > empirical_bernstein(values)


@pytest.mark.parametrize(("ones", "below"), [(150, (0.083, 0.087, 0.127)), (190, (0.050, 0.087, 0.085))])
def test_the_distances_that_the_page_states(ones: int, below: tuple[float, float, float]) -> None:
    """docs/conclusions.md: of this limit, of Hoeffding's and of empirical Bernstein's below the mean."""
    values = np.repeat([1.0, 0.0], [ones, 200 - ones])
    hoeffding = math.sqrt(math.log(20) / 400)
    found = (values.mean() - limit(values), hoeffding, values.mean() - empirical_bernstein(values))
    assert tuple(round(float(distance), 3) for distance in found) == below


def test_an_undecided_capital_refutes_nothing() -> None:
    assert mean_limit([arb("nan")] * 20, BETA) == 0
    assert mean_limit([arb("0.5 +/- 0.5")] * 20, BETA) == 0
