import pytest
import torch
from rule_cases import PUBLISHED, make_laws

from fedcert.errors import InvalidConfig, InvalidWeights
from fedcert.randomness import stream
from fedcert.rules import (
    AggregationRule,
    LinearMap,
    LinearRule,
    RuleContext,
    TrimmedMean,
    build_rule,
    rule_names,
)

LAWS = make_laws(stream(0, "builders"), 4, 3)
START = torch.ones(3, dtype=torch.float64)


def build(name: str, **settings) -> AggregationRule:
    return build_rule(name, RuleContext(LAWS, [4, 1, 2, 1], **settings))


def weights(name: str, **settings) -> list[float]:
    rule = build(name, **settings)
    assert isinstance(rule, LinearMap)
    return rule.weights.squeeze(-1).tolist()


def test_weights_are_equal_follow_the_sizes_or_are_given() -> None:
    assert weights("fedavg") == [0.25] * 4
    assert weights("fedavg", weights="size") == [0.5, 0.125, 0.25, 0.125]
    assert weights("fedavg", weights=[0.1, 0.2, 0.3, 0.4]) == [0.1, 0.2, 0.3, 0.4]
    assert weights("linear", weights=[2.0, -1.0, 0.5, 0.0]) == [2.0, -1.0, 0.5, 0.0]
    assert weights("server-step", weights="size", initial=START, rate=0.5) == [0.25, 0.0625, 0.125, 0.0625]


def test_other_settings_reach_their_rules() -> None:
    step = build("server-step", initial=3 * START, rate=0.5)
    assert isinstance(step, LinearMap)
    assert step.offset is not None
    assert step.offset.tolist() == [1.5, 1.5, 1.5]
    pog = build("pog")
    assert isinstance(pog, LinearMap)
    assert pog.weights.shape == (4, 3)
    assert build("trimmed-mean", trim=0) == TrimmedMean(4, 0)
    assert build("median") == TrimmedMean.median(4)


@pytest.mark.parametrize("name", ["fedavg", "linear", "wasserstein", "reverse-kl"])
@pytest.mark.parametrize("given", [[1.0], [0.2] * 5])
def test_explicit_weights_are_one_for_each_client(name: str, given: list[float]) -> None:
    with pytest.raises(InvalidConfig, match="4 numbers"):
        build(name, weights=given)


def test_a_server_step_takes_no_explicit_weights() -> None:
    """They would have been ignored."""
    with pytest.raises(InvalidConfig, match=r"uniform or size, not \[0.1, 0.2, 0.3, 0.4\]"):
        build("server-step", weights=[0.1, 0.2, 0.3, 0.4], initial=START)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("name", rule_names())
def test_an_unknown_name_of_weights_is_refused(name: str) -> None:
    with pytest.raises(InvalidConfig, match="weights: 'sizes'; give uniform or size"):
        build(name, weights="sizes", initial=START)


@pytest.mark.parametrize("name", ["pog", "conflation", "consensus", "prior-corrected"])
def test_a_rule_of_precisions_takes_no_explicit_weights(name: str) -> None:
    """They would have been ignored."""
    with pytest.raises(InvalidConfig, match=f"weights: {name} weighs clients by their precisions"):
        build(name, weights=[0.1, 0.2, 0.3, 0.4], prior_scale=9.0)


@pytest.mark.parametrize("name", ["wasserstein", "reverse-kl", "forward-kl", "averaged-variances"])
def test_the_weights_of_a_published_law_reach_it(name: str) -> None:
    shares = [0.5, 0.125, 0.25, 0.125]
    by_size, given = build(name, weights="size"), build(name, weights=shares)
    assert isinstance(by_size, LinearRule)
    assert isinstance(given, LinearRule)
    assert by_size.settings == given.settings == {"weights": shares}
    assert torch.equal(by_size.weights, given.weights)
    for wrong in ([0.5, 0.125, 0.25, 0.25], [1.0, 0.5, -0.25, -0.25]):
        with pytest.raises(InvalidWeights):
            build(name, weights=wrong)


def test_what_a_rule_needs_is_asked_for() -> None:
    with pytest.raises(InvalidConfig, match=r"prior_scale: .* give prior_scale \(--prior-scale\)"):
        build("prior-corrected")
    with pytest.raises(InvalidConfig, match="4 numbers, not uniform"):
        build("linear")
    with pytest.raises(InvalidConfig, match="started from"):
        build("server-step")


def test_the_rules_of_the_command_line_are_built_under_their_names() -> None:
    others = ("linear", "server-step", "median", "trimmed-mean", "pooling")
    assert rule_names() == ("fedavg", "pog", *PUBLISHED, *others)
    settings = {
        "linear": {"weights": [1.0] * 4},
        "server-step": {"initial": START},
        "prior-corrected": {"prior_scale": 9.0},
    }
    for name in rule_names():
        assert build(name, **settings.get(name, {})).name == name
