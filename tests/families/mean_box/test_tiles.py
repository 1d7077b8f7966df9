"""Splitting against safe probabilities in closed form."""

import pytest
import torch
from problems import vector
from scipy.stats import norm

from fedcert.families.mean_box.tiles import split_boxes
from fedcert.federation.estimates import aggregated_sampling
from fedcert.laws import DiagonalGaussian, GaussianMixture, Law
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearRule, TrimmedMean
from fedcert.verify import Safe
from fedcert.verify.interval import MergedIntervalVerifier


def gaussian(*loc: float) -> DiagonalGaussian:
    return DiagonalGaussian(vector(*loc), torch.ones_like(vector(*loc)))


def half_space(x: float, threshold: float) -> Safe:
    properties = Properties(Box.point(vector(x)[None]), vector(1.0)[None, None], vector(-threshold)[None])
    return Safe(mlp(1, 1), properties, MergedIntervalVerifier())


ONE = LinearRule.fedavg([1])
TWO = LinearRule.fedavg([1, 1])
MIXTURE = GaussianMixture((gaussian(0.0, 4.0), gaussian(0.0, -4.0)), vector(3.0, 1.0))
CASES = [
    pytest.param([gaussian(0.0, 0.5)], ONE, 0.0, 0.0, norm.cdf(0.5), 0.001, id="one-dimension"),
    pytest.param([gaussian(0.5, 0.5)], ONE, 1.0, 0.0, norm.cdf(2**-0.5), 0.1, id="two-dimensions"),
    pytest.param([gaussian(0.0, 1.0)] * 2, TWO, 0.0, 0.0, norm.cdf(2**0.5), 0.1, id="two-clients"),
    pytest.param([MIXTURE], ONE, 0.0, 1.0, 0.75 * norm.cdf(3) + 0.25 * norm.cdf(-5), 0.001, id="mixture"),
    pytest.param(
        [gaussian(0.0, 1.0)] * 2,
        LinearRule(vector(1.0, -1.0)[:, None]),
        0.0,
        -1.0,
        norm.cdf(2**-0.5),
        0.12,
        id="negative-weight",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("laws", "rule", "x", "threshold", "exact", "gap"), CASES)
@pytest.mark.usefixtures("without_annotations")
def test_the_bound_climbs_to_the_exact_probability(
    laws: list[Law], rule: AggregationRule, x: float, threshold: float, exact: float, gap: float
) -> None:
    safe = half_space(x, threshold)
    bounds = [split_boxes(laws, rule, safe, budget).lower.item() for budget in (1, 16, 128, 1024)]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= exact
    assert exact - bounds[-1] < gap
    assert bounds[0] < bounds[2] < bounds[-1] or bounds[-1] > exact - 1e-3


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_a_median_is_certified_though_it_has_no_closed_form() -> None:
    laws = [gaussian(0.0, 1.0)] * 3
    safe = half_space(0.0, 0.0)
    bound = split_boxes(laws, TrimmedMean.median(3), safe, 1024).lower.item()
    estimate = aggregated_sampling(
        laws, TrimmedMean.median(3), safe.network, safe.properties, 4000, stream(0, "median")
    )
    assert 0.3 < bound <= estimate.confidence_interval(0.9999)[1]


@pytest.mark.slow
def test_what_is_never_safe_stays_at_zero() -> None:
    assert split_boxes([gaussian(0.0, 0.0)], ONE, half_space(0.0, 50.0), 500).lower.item() == 0.0
