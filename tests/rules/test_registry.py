from dataclasses import dataclass, replace

import pytest
from rule_cases import make_laws
from rule_contract import forget_registered_rules

from fedcert.errors import InvalidCertificate, InvalidConfig, ShapeMismatch
from fedcert.randomness import stream
from fedcert.rules import (
    LinearRule,
    RuleBuilder,
    RuleContext,
    TrimmedMean,
    build_rule,
    register_rule,
    register_rule_type,
    rule_names,
    rule_types,
)
from fedcert.rules.registry import describe_rule, read_rule

CONTEXT = RuleContext(make_laws(stream(0, "registry"), 3, 2), [1, 1, 1])


@pytest.fixture(autouse=True)
def known_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_registered_rules(monkeypatch)


@dataclass(frozen=True)
class Disguised(TrimmedMean):
    """A trimmed mean of another type."""

    def describe(self):
        header, coefficients = super().describe()
        return {**header, "type": "disguised"}, coefficients


def test_a_registered_rule_is_built_by_its_name() -> None:
    first = RuleBuilder("first", lambda context: TrimmedMean(context.clients, 0, "first"))
    register_rule(first)
    register_rule(first)  # the same one again
    assert rule_names()[-1] == "first"
    assert build_rule("first", CONTEXT) == TrimmedMean(3, 0, "first")
    with pytest.raises(InvalidConfig, match="'first' is registered already"):
        register_rule(replace(first, build=lambda context: TrimmedMean(context.clients, 1, "first")))
    with pytest.raises(InvalidConfig, match="'fedavg' is registered already"):
        register_rule(replace(first, name="fedavg"))


def test_an_unknown_name_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(InvalidConfig, match=r"'mode'; known are fedavg, pog, .*, trimmed-mean"):
        build_rule("mode", CONTEXT)


@pytest.mark.parametrize(
    "made", [TrimmedMean(3, 0, "another"), TrimmedMean(4, 0, "mine")], ids=["name", "clients"]
)
def test_a_builder_of_another_rule_than_it_says_is_refused(made: TrimmedMean) -> None:
    register_rule(RuleBuilder("mine", lambda context: made))
    with pytest.raises(ShapeMismatch, match="'mine' for 3 clients"):
        build_rule("mine", CONTEXT)


def test_a_registered_type_is_described_and_read() -> None:
    rule = Disguised(3, 1)
    with pytest.raises(InvalidCertificate, match="'disguised' is not registered; known are linear, trimmed"):
        describe_rule(rule)
    register_rule_type("disguised", Disguised.from_description)
    register_rule_type("disguised", Disguised.from_description)  # the same one again
    assert rule_types() == ("linear", "trimmed-mean", "pooling", "gaussian", "disguised")
    assert read_rule(*describe_rule(rule)) == rule
    with pytest.raises(InvalidConfig, match="'disguised' is registered already"):
        register_rule_type("disguised", TrimmedMean.from_description)


def test_an_unknown_type_is_refused_by_name() -> None:
    with pytest.raises(InvalidCertificate, match="'mystery'; known are linear, trimmed-mean"):
        read_rule({"type": "mystery", "name": "fedavg", "clients": 2}, {})


def test_a_rule_that_describes_another_one_is_refused() -> None:
    class Borrowed(TrimmedMean):
        def describe(self):
            return TrimmedMean(self.clients + 2, self.trim).describe()

    with pytest.raises(InvalidCertificate, match="another one"):
        describe_rule(Borrowed(3, 1))


def test_descriptions_say_what_the_files_say() -> None:
    """The fields that docs/certificate-format.md and the checker know."""
    header, coefficients = describe_rule(LinearRule.fedavg([1, 1]))
    assert dict(header) == {"type": "linear", "name": "fedavg", "clients": 2}
    assert list(coefficients) == ["weights"]
    _, coefficients = describe_rule(LinearRule.server_step(CONTEXT.laws[0].loc, 0.5, [1, 1]))
    assert list(coefficients) == ["weights", "offset"]
    header, coefficients = describe_rule(TrimmedMean.median(5))
    assert dict(header) == {"type": "trimmed-mean", "trim": 2, "name": "median", "clients": 5}
    assert not coefficients
