"""The vote, held against the vote of finite posteriors at every point."""

import numpy as np
import pytest
from finite_posteriors import make_posterior
from stated_bounds import make_bounds

from fedcert_check.conclusions.vote import vote


@pytest.mark.parametrize("seed", range(8))
def test_the_label_wins_the_vote_at_every_point(seed: int) -> None:
    posterior = make_posterior(seed, skill=1.0)
    lower = posterior.mass(posterior.satisfied())
    votes = posterior.mass(posterior.logits.argmax(3) == posterior.labels[:, None])  # (inputs, points)
    robust = (votes > 0.5).all(1)
    assert robust[lower > 0.5].all()
    assert vote(make_bounds(lower)).value == (lower > 0.5).sum() <= robust.sum()


def test_half_is_no_majority() -> None:
    assert vote(make_bounds([0.5, np.nextafter(0.5, 1), 1.0])).value == 2
    assert vote(make_bounds([0.5])).sentence.startswith("Nothing can be concluded")


def test_the_sentence_counts_inputs_and_says_who_votes() -> None:
    found = vote(make_bounds([0.6] * 1500 + [0.4]))
    assert "each of 1,500 of 1,501 inputs" in found.sentence
    assert any("finitely many drawn models may differ" in text for text in found.assumptions)
