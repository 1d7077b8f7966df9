"""Mean-centred boxes against safe probabilities in closed form."""

import math

import pytest
import torch
from certifying import certify_boxes_directly
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal, uniform, vector
from scipy.stats import norm

from fedcert.families.mean_box import certify as module
from fedcert.families.mean_box.certify import certify_boxes, certify_boxes_locally
from fedcert.families.mean_box.events import MeanBox
from fedcert.federation.estimates import aggregated_sampling
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearRule, TrimmedMean
from fedcert.verify import AnyOf, Safe
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier

EVENTS = MeanBox()


@pytest.fixture(autouse=True)
def whole_boxes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes are not split, so that each family's own mass can be compared with its closed form."""
    if "few_parameters" not in request.node.name:
        monkeypatch.setattr(module, "MAX_PARAMETERS_TO_SPLIT", 0)


def half_spaces(*thresholds: float, x: float = 0.0) -> Safe:
    """Networks w x + b, safe where w x + b ≥ threshold."""
    count = len(thresholds)
    one = torch.ones(count, 1, dtype=torch.float64)
    properties = Properties(Box.point(x * one), one[:, None], -vector(*thresholds)[:, None])
    return Safe(mlp(1, 1), properties, IntervalVerifier())


def gaussian(*loc: float, scale: float = 1.0) -> DiagonalGaussian:
    return DiagonalGaussian(vector(*loc), torch.full_like(vector(*loc), scale))


@pytest.mark.slow
def test_in_one_dimension_the_box_reaches_the_boundary() -> None:
    """b ~ N(1, 1) and b ≥ t: the box 1 ± r with 1 − r = t, whose mass is 1 − 2 Q(1 − t)."""
    thresholds = (-2.0, 0.0, 0.5, 2.0)
    found = certify_boxes(
        [gaussian(0.0, 1.0)], LinearRule.fedavg([1]), half_spaces(*thresholds), EVENTS
    ).lower
    expected = [1 - 2 * norm.sf(1 - t) if t < 1 else 0.0 for t in thresholds]
    assert found.tolist() == pytest.approx(expected, abs=2e-3)
    for low, t in zip(found.tolist(), thresholds, strict=True):
        assert low <= norm.sf(t - 1)


@pytest.mark.slow
@pytest.mark.parametrize("clients", [1, 2, 5, 40])
def test_transport_loses_little_to_direct_and_one_box_a_client_the_square_root_of_n(clients: int) -> None:
    """Beyond 32 clients the lattice is not counted, and one box a client is all that is left."""
    laws = [gaussian(0.0, 1.0)] * clients
    rule = LinearRule.fedavg([1] * clients)
    safe = half_spaces(-1.5)
    exact = norm.sf(-2.5 * math.sqrt(clients))
    transported = certify_boxes(laws, rule, safe, EVENTS).lower.item()
    direct = certify_boxes_directly(laws, rule, safe, EVENTS).lower.item()
    assert direct == pytest.approx(1 - 2 * norm.sf(2.5 * math.sqrt(clients)), abs=2e-3)
    if clients > 32:
        assert transported == pytest.approx((1 - 2 * norm.sf(2.5)) ** clients, abs=5e-3)
    else:
        assert transported == pytest.approx(direct, abs=3e-3)
    assert max(transported, direct) <= exact


@pytest.mark.slow
def test_parameters_that_do_not_matter_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At x = 0 the weight is irrelevant; with one radius for all it must shrink with the bias."""
    law, rule, safe = gaussian(0.0, 1.0), LinearRule.fedavg([1]), half_spaces(0.0)
    best = certify_boxes([law], rule, safe, EVENTS).lower.item()
    monkeypatch.setattr(module, "TARGET_MASS", -1.0)  # nothing is tried at all
    assert certify_boxes([law], rule, safe, EVENTS).lower.item() == 0.0
    monkeypatch.setattr(module, "_shape", lambda *_: torch.zeros(1, 1, dtype=torch.float64))
    monkeypatch.setattr(module, "TARGET_MASS", 0.999)
    uniform_only = certify_boxes([law], rule, safe, EVENTS).lower.item()
    assert uniform_only == pytest.approx((1 - 2 * norm.sf(1)) ** 2, abs=2e-3)
    assert best == pytest.approx(1 - 2 * norm.sf(1), abs=2e-3)


@pytest.mark.slow
def test_boxes_of_few_parameters_are_split() -> None:
    """The box reaches 1 − 2 Q(1) at most; tiles climb to Φ(1)."""
    bound = certify_boxes([gaussian(0.0, 1.0)], LinearRule.fedavg([1]), half_spaces(0.0), EVENTS).lower
    assert 0.84 < bound.item() <= norm.cdf(1)


def rules(clients: int, dimension: int) -> list[AggregationRule]:
    generator = stream(0, "rules")
    return [
        LinearRule.fedavg([1] * clients),
        LinearRule(normal(generator, clients, 1) / clients, normal(generator, dimension)),
        LinearRule.server_step(normal(generator, dimension), 0.5, [1] * clients),
        TrimmedMean.median(clients),
        TrimmedMean(clients, 1),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rule", rules(3, 17), ids=lambda rule: rule.name)
@settings(max_examples=4)
@given(seed=st.integers(0, 2**32), scale=st.sampled_from([1e-3, 0.05, 0.3]))
def test_no_bound_exceeds_what_sampling_allows(rule, seed: int, scale: float) -> None:
    """Point networks are decided almost exactly by the verifier, so sampling brackets the truth."""
    generator = stream(seed, "box")
    network = mlp(2, 3, 2)
    laws = [DiagonalGaussian(normal(generator, 17), scale * (0.5 + uniform(generator, 17))) for _ in range(3)]
    x = normal(generator, 4, 2)
    C = normal(generator, 4, 1, 2)
    offset = 0.5 * normal(generator, 4, 1)
    d = offset - (C @ network(rule([law.loc for law in laws]), x).unsqueeze(-1)).squeeze(-1)
    verifier = AnyOf((MergedIntervalVerifier(), LinearVerifier()))
    safe = Safe(network, Properties(Box.point(x), C, d), verifier)
    bound = certify_boxes(laws, rule, safe, EVENTS).lower
    estimate = aggregated_sampling(laws, rule, safe.network, safe.properties, 400, generator)
    rate = estimate.successes / 400
    assert (bound <= rate + 0.25).all()  # 0.25 is ten deviations
    assert (bound[rate < 0.5] < 0.75).all()


def test_local_is_the_mean_over_clients() -> None:
    laws = [gaussian(0.0, 1.0), gaussian(0.0, -1.0)]
    found = certify_boxes_locally(laws, "fedavg", half_spaces(0.0), EVENTS)
    assert found.lower.item() == pytest.approx((1 - 2 * norm.sf(1)) ** 2 / 2, abs=2e-3)  # one radius for both
    assert found.claim.kind == "local"


@pytest.mark.slow
def test_mixtures_add_up_their_safe_components() -> None:
    """Two clients, each at +5 or −5 with probability ½: the mean of biases is +5, 0, 0 or −5."""
    law = GaussianMixture((gaussian(0.0, 5.0), gaussian(0.0, -5.0)), vector(1.0, 1.0))
    rule, safe = LinearRule.fedavg([1, 1]), half_spaces(-20.0, 1.5, -3.5, 20.0)
    bounds = certify_boxes([law, law], rule, safe, EVENTS).lower
    assert bounds.tolist() == pytest.approx([1.0, 0.25, 0.75, 0.0], abs=0.02)
    for bound, truth in zip(bounds.tolist(), (1.0, 0.25, 0.75, 0.0), strict=True):
        assert bound <= truth + 0.001


@pytest.mark.slow
def test_parts_of_memory_do_not_change_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    laws, rule = [gaussian(0.0, 1.0)] * 3, LinearRule.fedavg([1] * 3)
    safe = half_spaces(-1.5, 0.0, 0.5, 2.0, x=0.3)
    whole = certify_boxes(laws, rule, safe, EVENTS).lower
    monkeypatch.setattr("fedcert.families.mean_box.nested.HELD_ELEMENTS", 6)
    assert torch.equal(certify_boxes(laws, rule, safe, EVENTS).lower, whole)
