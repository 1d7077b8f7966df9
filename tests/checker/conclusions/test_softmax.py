"""The mean softmax, held against that of finite posteriors at every point, and closed forms."""

import math

import numpy as np
import pytest
from finite_posteriors import FinitePosterior, make_posterior
from flint import arb
from stated_bounds import make_bounds

from fedcert_check.conclusions import Bounds
from fedcert_check.conclusions.softmax import least_share, mean_softmax, softmax


def least_mean_softmax(posterior: FinitePosterior) -> np.ndarray:
    """The least mean softmax of the label over the points of each ball."""
    shares = np.exp(posterior.logits)
    shares /= shares.sum(3, keepdims=True)
    label = np.broadcast_to(posterior.labels[None, :, None, None], (*shares.shape[:3], 1))
    return np.tensordot(posterior.probability, np.take_along_axis(shares, label, 3)[..., 0], 1).min(1)


def make_margin_bounds(posterior: FinitePosterior, margins: list[float]) -> Bounds:
    at_margins = tuple((m, tuple(posterior.mass(posterior.satisfied(m)).tolist())) for m in margins)
    return make_bounds(posterior.mass(posterior.satisfied()), at_margins=at_margins, classes=3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("margins", [[1.0], [0.5, 1.0, 2.0, 4.0], [-3.0, -1.0, 1.5, 3.0]])
def test_the_bound_holds_at_every_point(seed: int, margins: list[float]) -> None:
    posterior = make_posterior(seed, skill=1.5)
    exact = least_mean_softmax(posterior)
    bounds = make_margin_bounds(posterior, margins)
    proven = np.array([float(mean) for mean in mean_softmax(bounds)])
    assert (proven <= exact).all()
    assert softmax(bounds).value == (proven > 0.5).sum() <= (exact > 0.5).sum()


def test_many_margins_come_close_to_the_mean_of_the_least_share() -> None:
    posterior = make_posterior(1, skill=1.5)
    fine = np.linspace(-12, 12, 1000).tolist()
    proven = np.array([float(mean) for mean in mean_softmax(make_margin_bounds(posterior, fine))])
    reached = posterior.mass(1 / (1 + 2 * np.exp(-posterior.margin)))
    assert proven == pytest.approx(reached, abs=0.02)
    assert (proven <= reached).all()


def test_one_margin_gives_its_share_of_the_softmax() -> None:
    (mean,) = mean_softmax(make_bounds([0.0], at_margins=((2.0, (0.9,)),), classes=10))
    assert float(mean) == pytest.approx(0.9 / (1 + 9 * math.exp(-2)))
    assert least_share(0.0, 4).contains(arb(1) / 4)


def test_a_larger_margin_counts_for_the_smaller_ones() -> None:
    """L(δ) need not fall with δ: the certificates may come from different methods."""
    weak_first = make_bounds([0.0], at_margins=((1.0, (0.2,)), (2.0, (0.9,))), classes=10)
    alone = make_bounds([0.0], at_margins=((2.0, (0.9,)),), classes=10)
    assert mean_softmax(weak_first)[0].overlaps(mean_softmax(alone)[0])


def test_equal_margins_are_one() -> None:
    twice = make_bounds([0.3], at_margins=((0.0, (0.9,)), (0.0, (0.5,))), classes=2)
    assert float(mean_softmax(twice)[0]) == pytest.approx(0.45)


def test_half_is_not_enough_and_no_margin_beyond_numbers_helps() -> None:
    half = make_bounds([1.0], at_margins=((0.0, (1.0,)),), classes=2)
    assert softmax(half).value == 0
    assert softmax(half).sentence.startswith("Nothing can be concluded")
    huge = make_bounds([1.0], at_margins=((-1e308, (1.0,)), (1e308, (0.4,))), classes=10)
    assert softmax(huge).value == 0
    assert softmax(make_bounds([1.0], at_margins=((1e308, (0.6,)),), classes=10)).value == 1
