"""Statements about new inputs: coverage when only bounds are known, closed forms, refusals."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom
from stated_bounds import make_bounds

from fedcert_check.conclusions.population import population

CONFIDENCE = Fraction("0.95")
REPETITIONS = 2000


def test_limits_of_shares_are_those_of_clopper_and_pearson() -> None:
    lower = [0.97] * 30 + [0.6] * 15 + [0.1] * 5
    _, often, mostly = population(make_bounds(lower), CONFIDENCE)
    assert (often.name, mostly.name) == ("population-share-0.95", "population-share-0.5")
    assert often.value == pytest.approx(beta.ppf(0.05, 30, 21))
    assert mostly.value == pytest.approx(beta.ppf(0.05, 45, 6))
    assert often.upper is mostly.upper is None


def test_two_limits_share_the_probability_to_miss() -> None:
    lower, upper = [0.94] * 30 + [0.0] * 20, [0.96] * 30 + [0.3] * 20
    mean, often, mostly = population(make_bounds(lower, upper), CONFIDENCE)
    assert (often.value, often.upper) == (0, pytest.approx(beta.isf(0.025, 31, 20)))
    assert (mostly.value, mostly.upper) == (
        pytest.approx(beta.ppf(0.025, 30, 21)),
        pytest.approx(beta.isf(0.025, 31, 20)),
    )
    assert mean.value < np.mean(lower) < np.mean(upper) < mean.upper
    assert mean.value < population(make_bounds(lower), CONFIDENCE)[0].value


def test_the_upper_limit_mirrors_the_lower_one() -> None:
    values = np.linspace(0, 1, 33) ** 2
    mean = population(make_bounds(values, values), CONFIDENCE)[0]
    mirrored = population(make_bounds(1 - values, 1 - values), CONFIDENCE)[0]
    assert mean.upper == pytest.approx(1 - mirrored.value, abs=1e-8)


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_intervals_from_bounds_that_depend_on_each_other_cover() -> None:
    """The bounds of a sample are loosened by what all of its inputs are like; the limits hold regardless."""
    rng = np.random.default_rng(3)
    misses = np.zeros(3)
    for _ in range(REPETITIONS):
        exact = np.where(rng.random(12) < 0.6, 1.0, 0.25)
        lower, upper = exact * (1 - 0.1 * exact.std()), np.minimum(1, exact + 0.01 * exact.mean())
        found = population(make_bounds(lower, upper), CONFIDENCE)
        truths = (0.7, 0.6, 0.6)
        misses += [not c.value <= truth <= c.upper for c, truth in zip(found, truths, strict=True)]
    assert (misses <= binom.ppf(0.999, REPETITIONS, 0.05)).all()


def test_a_threshold_is_the_decimal_number_that_is_printed() -> None:
    """The float 0.95 lies below 0.95, so a bound of 0.95 is no proof of 95 %."""
    just_below, enough = (
        population(make_bounds([v] * 10), CONFIDENCE)[1] for v in (0.95, np.nextafter(0.95, 1))
    )
    assert just_below.value == 0
    assert enough.value > 0.7
    assert "probability of at least 95 % that" in enough.sentence


def test_selected_and_few_inputs_are_refused_with_the_reason() -> None:
    (selected,) = population(make_bounds([0.9] * 50, chosen="correct"), CONFIDENCE)
    assert selected.value is selected.upper is None
    assert "they were selected because the mean model classifies them correctly" in selected.sentence
    (few,) = population(make_bounds([0.9] * 9), CONFIDENCE)
    assert few.value is None
    assert "fewer than 10" in few.sentence
    assert population(make_bounds([0.9] * 10, chosen="given"), CONFIDENCE)[0].value > 0


def test_the_sample_is_an_assumption_and_the_confidence_in_the_sentence() -> None:
    for found in population(make_bounds([0.9] * 1200), Fraction("0.999")):
        assert found.sentence.startswith("With 99.9 % confidence")
        assert "from the population that these 1,200 inputs (the first 1,200 of 10,000" in found.sentence
        assert ") are a sample of " in found.sentence
        assert any("independent sample" in text for text in found.assumptions)
        assert any("at most 0.1 % of all samples" in text for text in found.assumptions)
