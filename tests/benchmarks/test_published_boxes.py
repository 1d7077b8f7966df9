"""Masses of boxes, against closed forms and sampling."""

import math

import numpy as np
import pytest
from published_boxes import box_around_a_draw, merged_by_coordinate, most_that_boxes_hold
from scipy.special import ndtr


def test_no_union_of_boxes_holds_more_than_the_bound() -> None:
    """Where boxes overlap little the bound is nearly met: three boxes of two coordinates, by sampling."""
    generator = np.random.default_rng(3)
    points = generator.standard_normal((200_000, 2))
    for centres in (np.array([[-0.2, 0.0], [0.0, 0.2], [0.2, 0.0]]), generator.standard_normal((3, 2))):
        inside = (np.abs(points[:, None] - centres) <= 0.1).all(-1).any(-1).mean()
        assert inside <= 10 ** most_that_boxes_hold(3, 0.1, 2)
    assert 10 ** most_that_boxes_hold(1, 1.0, 2) == pytest.approx((2 * ndtr(1.0) - 1) ** 2)
    assert most_that_boxes_hold(0, 1.0, 2) == -math.inf


def test_a_thousand_boxes_of_a_large_network_hold_nothing() -> None:
    assert most_that_boxes_hold(1750, 2.0, 50_890) < -1000


def test_merging_by_coordinate_counts_the_union_of_intervals() -> None:
    """One coordinate and one box: the mean logarithm over draws, by a sum over a grid."""
    z = np.linspace(-8, 8, 20_001)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    expected = math.exp((density * np.log(ndtr(z + 2) - ndtr(z - 2))).sum())
    assert merged_by_coordinate(1, 2.0, 1, 20_000) == pytest.approx(expected, rel=0.02)
    assert box_around_a_draw(2.0, 1) == pytest.approx(expected, rel=0.005)


def test_gaps_between_intervals_are_not_counted() -> None:
    """Narrow intervals hardly meet: two hold twice as much as one, where both are small."""
    one, two = (merged_by_coordinate(boxes, 1e-4, 1, 20_000) for boxes in (1, 2))
    assert 1.9 < two / one < 2.6  # the logarithm's mean gains from the larger of the two


def test_merged_boxes_seem_to_hold_far_more_than_they_do() -> None:
    merged = merged_by_coordinate(1750, 2.0, 50_890, 200)
    assert merged > 0.98 > 1e-100 > 10 ** most_that_boxes_hold(1750, 2.0, 50_890)
