"""All conclusions together: which there are, that all of them say what they speak about, strange inputs."""

import re

import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from stated_bounds import make_bounds

from fedcert_check.conclusions import Sampled, conclude
from fedcert_check.errors import InvalidCertificate

ALWAYS = ["expected-accuracy", "one-draw", "most-at-once", "all-at-once", "vote"]
POPULATION = ["population-accuracy", "population-share-0.95", "population-share-0.5"]
SAMPLED = Sampled((0.5,) * 20, (1.0,) * 20, 0.95, 100)


def test_there_is_one_conclusion_for_each_statement() -> None:
    assert [c.name for c in conclude(make_bounds([0.9] * 20))] == [*ALWAYS, *POPULATION]
    everything = make_bounds([0.9] * 20, at_margins=((3.0, (0.8,) * 20),), classes=10, sampled=SAMPLED)
    names = [c.name for c in conclude(everything)]
    assert names == [*ALWAYS, "mean-softmax", *POPULATION, "confidence-accuracy"]
    refusing = make_bounds([0.9] * 20, margin=-1.0, at_margins=((3.0, (0.8,) * 20),), classes=10)
    assert [c.name for c in conclude(refusing)] == ["expected-accuracy", "mean-softmax"]


@pytest.mark.parametrize("chosen", ["first", "random", "correct", "given"])
@pytest.mark.parametrize("value", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("count", [1, 20])
def test_every_sentence_names_inputs_norm_radius_and_rule(chosen: str, value: float, count: int) -> None:
    bounds = make_bounds([value] * count, chosen=chosen, common_radius=1e-5)
    for found in conclude(bounds):
        assert bounds.subject.describe_choice() in found.sentence
        assert re.search(rf"\b{count} inputs?\b", found.sentence)
        assert "l-infinity ball of radius 1e-05" in found.sentence
        assert "fedavg" in found.sentence
        assert (found.rule, found.epsilon) == ("fedavg", 1e-5)
        assert found.sentence.endswith(".")


@given(st.lists(st.sampled_from([0.0, 5e-324, 0.5, 1 - 2**-53, 1.0]), min_size=1, max_size=15), st.booleans())
@settings(max_examples=40)
def test_strange_probabilities_give_numbers_in_range(values: list[float], both: bool) -> None:
    for found in conclude(make_bounds(values, values if both else None)):
        most = len(values) if found.name in {"one-draw", "most-at-once", "vote"} else 1
        assert found.value is None or 0 <= found.value <= most
        assert found.upper is None or found.value <= found.upper <= 1


def test_ones_and_zeros() -> None:
    ones = {c.name: c.value for c in conclude(make_bounds([1.0] * 20))}
    assert [ones[name] for name in ALWAYS] == [1.0, 20, 20, 1.0, 20]
    assert 0.8 < ones["population-accuracy"] < 1
    assert {c.value for c in conclude(make_bounds([0.0] * 20))} == {0}


def test_the_precision_of_the_caller_does_not_matter() -> None:
    bounds = make_bounds([0.9, 0.3] * 10, [0.95, 0.4] * 10, at_margins=((3.0, (0.8,) * 20),), classes=10)
    expected = conclude(bounds)
    with ctx.workprec(20):
        assert conclude(bounds) == expected
        assert ctx.prec == 20


@pytest.mark.parametrize("confidence", [0.0, 1.0, float("nan")])
def test_a_confidence_lies_between_0_and_1(confidence: float) -> None:
    with pytest.raises(InvalidCertificate, match="a confidence of"):
        conclude(make_bounds([0.5]), confidence)
