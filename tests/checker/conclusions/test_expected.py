"""The mean over the draw, held against finite posteriors."""

from fractions import Fraction

import pytest
from finite_posteriors import make_posterior
from hypothesis import given
from hypothesis import strategies as st
from stated_bounds import make_bounds

from fedcert_check.conclusions.expected import expected, no_label_wins

PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_expected_share_of_inputs_that_hold(seed: int) -> None:
    posterior = make_posterior(seed)
    exact = posterior.mass(posterior.satisfied())
    share = posterior.mass(posterior.satisfied().mean(1))
    found = expected(make_bounds(exact, exact))
    assert found.value == pytest.approx(share)
    assert found.upper == pytest.approx(share)


@given(PROBABILITIES)
def test_means_are_rounded_outward(values: list[float]) -> None:
    found = expected(make_bounds(values, values))
    mean = sum(map(Fraction, values)) / len(values)
    assert Fraction(found.value) <= mean <= Fraction(found.upper)
    assert found.upper - found.value < 1e-15


def test_the_sentence_names_inputs_norm_radius_and_rule() -> None:
    found = expected(make_bounds([0.74699] * 200, [0.74821] * 200))
    assert found.sentence == (
        "On average over the draw, the model that fedavg deploys classifies at least 74.69 % and at most"
        " 74.83 % of 200 inputs (the first 200 of 10,000 of mnist, as they come) correctly at every point of"
        " the l-infinity ball of radius 0.001 around each."
    )
    assert any("region in the certificate" in text for text in found.assumptions)
    assert not any("region in the certificate" in t for t in expected(make_bounds([0.5])).assumptions)


def test_selected_inputs_give_no_accuracy() -> None:
    assert "not an accuracy" in expected(make_bounds([0.9] * 20, chosen="correct")).sentence
    assert "not an accuracy" not in expected(make_bounds([0.9] * 20)).sentence


def test_a_margin_is_named() -> None:
    assert "with a margin of at least 0.5 at" in expected(make_bounds([0.9], margin=0.5)).sentence
    refusal = no_label_wins(make_bounds([0.9], margin=-0.5))
    assert refusal.value is None
    assert "-0.5" in refusal.sentence
