"""Pooling: shares that enclose the exact ones, images of all that may be deployed, no value of its own."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from problems import normal, uniform, vector
from rule_cases import make_laws
from rule_contract import assert_same_rule, check_description, check_device

from fedcert.certificate import clopper_pearson
from fedcert.errors import InvalidConfig, InvalidWeights, ShapeMismatch
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, GaussianRule, Pooling, RuleContext, build_rule

LAWS = make_laws(stream(0, "pooling"), 3, 2)


def pooling(*weights: float) -> Pooling:
    return Pooling(vector(*weights).unsqueeze(1))


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-30, 1e30)), min_size=1, max_size=6).filter(any))
def test_shares_enclose_the_exact_quotients(weights: list[float]) -> None:
    shares, total = pooling(*weights).shares, sum(map(Fraction, weights))
    for weight, low, high in zip(weights, shares.lower, shares.upper, strict=True):
        assert exact(low) <= Fraction(weight) / total <= exact(high)
        assert exact(high) - exact(low) <= Fraction(weight) / total * Fraction(1, 10**14) + Fraction(
            1, 10**300
        )


def test_the_image_holds_every_client_and_nothing_beyond_their_hull() -> None:
    generator = stream(1, "pooling")
    boxes = [Box.around(normal(generator, 4), uniform(generator, 4)) for _ in range(3)]
    image = pooling(1.0, 0.0, 2.0).image(boxes)
    assert torch.equal(image.lower, torch.stack([box.lower for box in boxes]).amin(0))
    assert torch.equal(image.upper, torch.stack([box.upper for box in boxes]).amax(0))


def test_it_is_a_rule_without_a_gaussian_law_and_without_a_value() -> None:
    rule = pooling(1.0, 3.0)
    assert isinstance(rule, AggregationRule)
    assert not isinstance(rule, GaussianRule)
    with pytest.raises(ShapeMismatch, match="at random"):
        rule([vector(0.0), vector(1.0)])
    check_description(rule)
    check_device(rule)
    for count in (1, 3):
        with pytest.raises(ShapeMismatch):
            rule.image([Box.point(vector(0.0))] * count)
    with pytest.raises(ShapeMismatch, match="shapes"):
        rule.image([Box.point(vector(0.0)), Box.point(vector(0.0, 1.0))])


def test_clients_are_chosen_as_often_as_they_weigh() -> None:
    weights = (1.0, 0.0, 5.0)
    chosen = pooling(*weights).choose(6000, stream(2, "pooling"))
    for client, weight in enumerate(weights):
        low, high = clopper_pearson(int((chosen == client).sum()), 6000, 1 - 1e-9)
        assert low <= weight / 6 <= high
    assert len(pooling(*weights).choose(0, stream(2, "pooling"))) == 0


def test_weights_are_uniform_or_sizes_or_given() -> None:
    built = build_rule("pooling", RuleContext(LAWS, [10, 20, 30]))
    assert_same_rule(built, pooling(1.0, 1.0, 1.0))
    assert_same_rule(
        build_rule("pooling", RuleContext(LAWS, [10, 20, 30], "size")), pooling(10.0, 20.0, 30.0)
    )
    own = build_rule("pooling", RuleContext(LAWS, None, [0.0, 0.2, 7.0]))
    assert_same_rule(own, pooling(0.0, 0.2, 7.0))
    with pytest.raises(InvalidConfig, match="one weight for each client"):
        build_rule("pooling", RuleContext(LAWS, None, [1.0]))


@pytest.mark.parametrize(
    "weights",
    [(), (0.0, 0.0), (1.0, -1e-9), (1.0, float("nan")), (float("inf"),), (1.0, 1e-40), (1e31,)],
    ids=str,
)
def test_weights_that_are_no_probabilities_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(InvalidWeights, match="weights of pooling"):
        pooling(*weights)


@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("weights", [vector(1.0), torch.ones(2, 2).double()])
def test_weights_of_another_shape_are_refused(weights: torch.Tensor) -> None:
    with pytest.raises(InvalidWeights, match="shape"):
        Pooling(weights)


def test_it_has_one_name() -> None:
    with pytest.raises(InvalidWeights, match="always named so"):
        Pooling(torch.ones(1, 1).double(), "fedavg")
