"""Confidence bounds against exact probabilities, and what they refuse."""

import pytest
import torch
from confidence_cases import exact_problem, one_weight, random_problem, residual_problem, seeded, weight_law

from fedcert.confidence import bound, bounding
from fedcert.confidence.bounding import seed_of_problem
from fedcert.errors import InvalidConfig, ShapeMismatch
from fedcert.rules import LinearRule

REPETITIONS, BETA = 200, 0.05


@pytest.mark.slow
def test_the_interval_misses_the_exact_probability_in_at_most_one_of_twenty_repetitions() -> None:
    """The checker repeats this two thousand times (tests/checker/confidence)."""
    generator, misses, empty = seeded("coverage"), 0, 0
    for repetition in range(REPETITIONS):
        kind = ("mean", "median", "mixture")[repetition % 3]
        problem, truths = exact_problem(kind, generator)
        found = bound(problem, 10, BETA)
        sides = zip(found.lower.tolist(), truths, found.upper.tolist(), strict=True)
        misses += not all(low <= truth <= high for low, truth, high in sides)
        empty += found.mean_lower == 0 and found.mean_upper == 1
    assert misses <= BETA * REPETITIONS
    assert empty < REPETITIONS / 4


@pytest.mark.parametrize("kind", ["mean", "median", "mixture"])
def test_many_draws_close_in_on_the_exact_probability(kind: str) -> None:
    problem, truths = exact_problem(kind, seeded("close", kind))
    found = bound(problem, 600, 1e-6)
    for low, truth, high in zip(found.lower.tolist(), truths, found.upper.tolist(), strict=True):
        assert low <= truth <= high
        assert high - low < 0.25
    assert found.undecided == 0


@pytest.mark.parametrize("rule", ["fedavg", "linear", "median", "mixture"])
def test_hardly_any_draw_of_a_small_network_is_undecided(rule: str) -> None:
    found = bound(random_problem(1, rule), 100)
    assert found.undecided < 0.02
    assert 0 < found.proven.sum() < 100 * len(found.proven)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["fedavg", "median"])
def test_residual_additions_are_judged_by_the_verifiers_of_boxes(rule: str) -> None:
    found = bound(residual_problem(0, rule), 60)
    assert found.undecided < 0.1
    assert 0 < found.proven.sum() < 60 * len(found.proven)


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(2)
    whole = bound(problem, 50)
    monkeypatch.setitem(bounding.BATCH_ELEMENTS, "cpu", 1)
    assert torch.equal(bound(problem, 50).proven, whole.proven)


def test_the_seed_covers_all_that_is_claimed_and_no_label() -> None:
    problem = random_problem(0)
    seeds = {
        seed_of_problem(problem, 100, 0.05),
        seed_of_problem(problem, 101, 0.05),
        seed_of_problem(problem, 100, 0.04),
        seed_of_problem(problem, 100, 0.05, ["a", "b", "c"]),
        seed_of_problem(problem.under(LinearRule.fedavg([1, 1, 1])), 100, 0.05),
        seed_of_problem(random_problem(1), 100, 0.05),
    }
    assert len(seeds) == 6
    renamed = problem.under(LinearRule(problem.rule.weights, None, "another-name"))
    assert seed_of_problem(renamed, 100, 0.05) == seed_of_problem(problem, 100, 0.05)


@pytest.mark.parametrize(
    ("draws", "beta"), [(0, 0.05), (2**31, 0.05), (10, 0.0), (10, 1.0), (10, float("nan"))]
)
def test_draws_and_levels_that_mean_nothing_are_refused(draws: int, beta: float) -> None:
    with pytest.raises(InvalidConfig, match=r"draws|beta"):
        bound(one_weight([weight_law(0.0)], LinearRule.fedavg([1]), 0.0), draws, beta)


def test_there_is_a_message_for_each_client() -> None:
    with pytest.raises(ShapeMismatch, match="1 messages"):
        bound(random_problem(0), 10, messages=["a"])
