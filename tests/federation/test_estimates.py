import math
from collections.abc import Callable

import pytest
import torch
from problems import normal, uniform, vector

from fedcert.certificate import Estimate
from fedcert.federation.estimates import aggregated_sampling, attack_survival, mc_ibp
from fedcert.federation.joint import Sampled
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.verify import Safe
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.interval import IntervalVerifier

THRESHOLDS = (-1.0, 0.0, 0.5, 2.0)
SAMPLES = 4000
SURE = 1 - 1e-9
LIMIT = "fedcert.federation.estimates.HELD_ELEMENTS"


def bias_at_least(*thresholds: float) -> Safe:
    """f(x) = w x + b on the region {0}: safe exactly when b ≥ t."""
    count = len(thresholds)
    region = Box.point(torch.zeros(count, 1, dtype=torch.float64))
    C = torch.ones(count, 1, 1, dtype=torch.float64)
    return Safe(mlp(1, 1), Properties(region, C, -vector(*thresholds).unsqueeze(-1)), IntervalVerifier())


def exceeds(law: DiagonalGaussian, threshold: float) -> float:
    """Pr(b ≥ t) = Φ((μ − t)/σ)."""
    z = (law.loc[1].item() - threshold) / law.scale[1].item()
    return math.erfc(-z / math.sqrt(2)) / 2


LAWS = [
    DiagonalGaussian(vector(3.0, 0.7), vector(0.1, 1.0)),
    DiagonalGaussian(vector(-3.0, -0.2), vector(2.0, 0.5)),
    DiagonalGaussian(vector(0.0, 1.5), vector(1.0, 2.0)),
]
RULES = [LinearRule.fedavg([1, 2, 5]), LinearRule.product_of_gaussians(LAWS)]


def draw_from_deployed_law(rule: LinearRule, safe: Safe, samples: int, seed: int) -> Estimate:
    asked = safe.network, safe.properties
    return mc_ibp(rule.pushforward(LAWS), *asked, rule.name, samples, stream(seed, "test"))


def draw_from_clients(rule: LinearRule, safe: Safe, samples: int, seed: int) -> Estimate:
    return aggregated_sampling(LAWS, rule, safe.network, safe.properties, samples, stream(seed, "test"))


def attack_the_deployed_law(rule: LinearRule, safe: Safe, samples: int, seed: int) -> Estimate:
    law, properties = rule.pushforward(LAWS), safe.properties
    return attack_survival(law, safe.network, properties, rule.name, samples, stream(seed, "test"))


Method = Callable[[LinearRule, Safe, int, int], Estimate]
METHODS: list[Method] = [draw_from_deployed_law, draw_from_clients, attack_the_deployed_law]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_interval_holds_the_exact_acceptance_probability(
    method: Method, rule: LinearRule, threshold: float
) -> None:
    estimate = method(rule, bias_at_least(threshold), SAMPLES, 0)
    low, high = estimate.confidence_interval(SURE)
    assert low <= exceeds(rule.pushforward(LAWS), threshold) <= high
    assert high - low < 0.12


@pytest.mark.parametrize("method", METHODS)
def test_the_value_is_the_mean_over_the_properties(method: Method) -> None:
    estimate = method(RULES[0], bias_at_least(*THRESHOLDS), SAMPLES, 0)
    exact = sum(exceeds(RULES[0].pushforward(LAWS), t) for t in THRESHOLDS) / len(THRESHOLDS)
    assert estimate.value == pytest.approx(exact, abs=0.05)
    assert sorted(estimate.successes.tolist(), reverse=True) == estimate.successes.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_the_generator_decides_the_samples(method: Method) -> None:
    same, again, other = (
        method(RULES[0], bias_at_least(*THRESHOLDS), SAMPLES, seed).successes.tolist() for seed in (0, 0, 1)
    )
    assert same == again != other


@pytest.mark.parametrize("samples", [1, 6, 7, 100])
@pytest.mark.parametrize("method", METHODS)
def test_every_sample_is_counted_once_however_they_are_batched(
    method: Method, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LIMIT, 6)  # three networks at a time
    estimate = method(RULES[0], bias_at_least(-1e9, 1e9), samples, 0)
    assert estimate.samples == samples
    assert estimate.successes.tolist() == [samples, 0]


MIXTURE = GaussianMixture((LAWS[0], LAWS[1]), vector(1.0, 2.0))


@pytest.mark.parametrize("law", [LAWS[0], MIXTURE], ids=["gaussian", "mixture"])
@pytest.mark.parametrize("estimate", [mc_ibp, attack_survival])
def test_the_size_of_the_batches_changes_nothing(
    law: Sampled, estimate: Callable[..., Estimate], monkeypatch: pytest.MonkeyPatch
) -> None:
    safe = bias_at_least(*THRESHOLDS)
    found = []
    for elements in (2, 10, 34, 2**18):
        monkeypatch.setattr(LIMIT, elements)
        found.append(estimate(law, safe.network, safe.properties, "x", 101, stream(0, "test")))
    assert all(one.successes.tolist() == found[0].successes.tolist() for one in found)
    assert 0 < found[0].value < 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_an_estimate_says_what_was_sampled_and_for_which_rule(rule: LinearRule) -> None:
    safe = bias_at_least(0.0)
    deployed, clients, attacked = (method(rule, safe, 1, 0) for method in METHODS)
    assert (deployed.name, deployed.rule) == ("mc-ibp", rule.name)
    assert (clients.name, clients.rule) == ("aggregated-sampling", rule.name)
    assert (attacked.name, attacked.rule) == ("attack-survival", rule.name)


def robust(seed: int) -> tuple[DiagonalGaussian, Safe]:
    """A random network with hidden neurons, and regions in which some samples of it are proven safe."""
    generator = stream(seed, "robust")
    network = mlp(2, 6, 2)
    law = DiagonalGaussian(
        normal(generator, network.parameters), 0.2 + uniform(generator, network.parameters)
    )
    x, C = normal(generator, 5, 2), normal(generator, 5, 2, 2)
    values = (C @ network(law.loc, x).unsqueeze(-1)).squeeze(-1)
    properties = Properties(Box.around(x, 0.1), C, 2 * uniform(generator, 5, 2) - values)
    return law, Safe(network, properties, IntervalVerifier())


@pytest.mark.parametrize("seed", range(4))
def test_no_network_that_is_proven_safe_falls_to_an_attack(seed: int) -> None:
    law, safe = robust(seed)
    proven = mc_ibp(law, safe.network, safe.properties, "fedavg", 500, stream(seed, "same samples"))
    survive = attack_survival(law, safe.network, safe.properties, "fedavg", 500, stream(seed, "same samples"))
    assert (survive.successes >= proven.successes).all()
    assert (survive.successes > proven.successes).any()
    assert 0 < survive.value < 1


def test_a_safe_law_always_survives_and_an_unsafe_one_never() -> None:
    law, safe = robust(0)
    certain = law.with_scale(1e-9)
    value = safe.network(certain.loc, safe.properties.regions.lower)
    worst = (safe.properties.C @ value.unsqueeze(-1)).squeeze(-1)
    for margin, expected in [(100.0, 1.0), (-0.1, 0.0)]:
        properties = Properties(safe.properties.regions, safe.properties.C, margin - worst)
        found = attack_survival(certain, safe.network, properties, "fedavg", 50, stream(0, "test"))
        assert found.value == expected
        low, high = found.confidence_interval()
        assert low <= expected <= high
        assert high - low < 0.2


def test_a_weaker_attack_is_survived_more_often() -> None:
    law, safe = robust(1)
    weak, strong = (
        attack_survival(law, safe.network, safe.properties, "fedavg", 300, stream(1, "test"), attack)
        for attack in (ProjectedGradient(steps=1, reach=1e-9), None)
    )
    assert weak.value > strong.value
