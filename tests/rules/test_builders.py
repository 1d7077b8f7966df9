import pytest
import torch
from rule_cases import make_laws

from fedcert.errors import InvalidConfig
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearMap, RuleContext, TrimmedMean, build_rule, rule_names

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


@pytest.mark.parametrize("name", ["fedavg", "linear"])
@pytest.mark.parametrize("given", [[1.0], [0.2] * 5])
def test_explicit_weights_are_one_for_each_client(name: str, given: list[float]) -> None:
    with pytest.raises(InvalidConfig, match="4 numbers"):
        build(name, weights=given)


def test_what_a_rule_needs_is_asked_for() -> None:
    with pytest.raises(InvalidConfig, match="4 numbers, not uniform"):
        build("linear")
    with pytest.raises(InvalidConfig, match="started from"):
        build("server-step")


def test_the_rules_of_the_command_line_are_built_under_their_names() -> None:
    assert rule_names() == ("fedavg", "pog", "linear", "server-step", "median", "trimmed-mean")
    settings = {"linear": {"weights": [1.0] * 4}, "server-step": {"initial": START}}
    for name in rule_names():
        assert build(name, **settings.get(name, {})).name == name
