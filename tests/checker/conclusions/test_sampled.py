"""A confidence bound says that it is one."""

from stated_bounds import make_bounds

from fedcert_check.conclusions import Sampled
from fedcert_check.conclusions.sampled import sampled


def test_means_confidence_and_draws_are_stated() -> None:
    limits = Sampled((0.5, 0.75), (0.75, 1.0), 0.95, 10_000)
    found = sampled(make_bounds([0.1, 0.1]), limits)
    assert (found.value, found.upper) == (0.625, 0.875)
    assert found.sentence.startswith("With 95 % confidence over the 10,000 draws of the check, the model")
    assert "at least 62.50 % and at most 87.50 % of 2 inputs" in found.sentence
    assert "not a certificate: with a probability of at most 5 %" in found.sentence
    assert "not an accuracy" in sampled(make_bounds([0.1, 0.1], chosen="correct"), limits).sentence
