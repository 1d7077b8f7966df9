"""One draw, held against finite posteriors and against the worst joint law of the same probabilities."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from finite_posteriors import make_posterior
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from stated_bounds import make_bounds

from fedcert_check.conclusions.one_draw import all_at_once, how_many, which_at_once


def least_probability(marginals: list[float], count: int) -> float:
    """The least Pr(at least `count` events) over all joint laws with these marginals."""
    atoms = list(itertools.product([0, 1], repeat=len(marginals)))
    solution = linprog(
        [float(sum(atom) >= count) for atom in atoms],
        A_eq=[*zip(*atoms, strict=True), [1] * len(atoms)],
        b_eq=[*marginals, 1],
    )
    return float(solution.fun)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("skill", [1.0, 3.0, 6.0])
def test_statements_hold_for_finite_posteriors(seed: int, skill: float) -> None:
    posterior = make_posterior(seed, skill=skill)
    holds = posterior.satisfied()
    lower = posterior.mass(holds)
    bounds = make_bounds(lower)
    assert posterior.mass(holds.sum(1) >= how_many(bounds).value) >= 0.95
    chosen = np.argsort(-lower, kind="stable")[: int(which_at_once(bounds).value)]
    assert posterior.mass(holds[:, chosen].all(1)) >= 0.95
    assert posterior.mass(holds.all(1)) >= all_at_once(bounds).value


def test_the_finite_posteriors_leave_something_to_say() -> None:
    found = [how_many(make_bounds(p.mass(p.satisfied()))).value for p in map(make_posterior, range(8))]
    assert 0 < max(found) < 6


@pytest.mark.parametrize(
    "lower",
    [
        [0.99, 0.98, 0.97],
        [0.96, 0.96, 0.2],
        [0.999, 0.9, 0.9, 0.9],
        [0.981] * 5,
        [0.94, 0.94, 0.94],
        [1.0, 0.0],
    ],
)
def test_the_number_is_the_largest_that_follows(lower: list[float]) -> None:
    count = int(how_many(make_bounds(lower)).value)
    assert least_probability(lower, count) >= 0.95 - 1e-9
    assert count == len(lower) or least_probability(lower, count + 1) < 0.95 - 1e-9


def test_misclassified_inputs_do_not_spoil_the_others() -> None:
    """Markov's inequality for all inputs together would conclude nothing from a quarter of zeros."""
    assert how_many(make_bounds([1.0] * 75 + [0.0] * 25)).value == 75
    assert which_at_once(make_bounds([1.0] * 75 + [0.0] * 25)).value == 75


def test_the_limit_itself_counts_and_a_hair_below_does_not() -> None:
    """With 1 − L = 1/128 each, six inputs fail with probability 0.047 at most, seven with 0.055."""
    assert which_at_once(make_bounds([1 - 1 / 128] * 10)).value == 6
    assert which_at_once(make_bounds([0.95])).value == 0  # the float 0.95 lies below 95 %
    assert which_at_once(make_bounds([np.nextafter(0.95, 1)])).value == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_all_at_once_is_the_union_bound_rounded_down(values: list[float]) -> None:
    exact = 1 - sum(1 - Fraction(value) for value in values)
    found = Fraction(all_at_once(make_bounds(values)).value)
    assert found == 0 if exact <= 0 else 0 <= exact - found < Fraction(1, 2**53)


def test_where_nothing_follows_the_sentences_say_so() -> None:
    nothing = make_bounds([0.3, 0.4])
    for statement in (how_many, which_at_once, all_at_once):
        assert statement(nothing).value == 0
        assert statement(nothing).sentence.startswith("Nothing can be concluded")


def test_sentences_state_probability_and_number() -> None:
    bounds = make_bounds([0.9999] * 150 + [0.1] * 50)
    assert how_many(bounds).sentence.startswith(
        "With probability at least 95 %, the model that fedavg deploys classifies at least 150 of 200 inputs"
    )
    assert "all at once, the 150 inputs with the largest proven probability (each at least 99.99 %)" in (
        which_at_once(bounds).sentence
    )
    assert "at least 98.04 %" in all_at_once(make_bounds([1 - 1 / 1024] * 20)).sentence  # 98.046875 %
