"""Every registered rule against the contract of `rule_contract`, and what rules can do besides."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_cases import LINEAR, RULES, exact_map, make_laws, make_rule
from rule_contract import check_rule

from fedcert.randomness import stream
from fedcert.rules import GaussianRule, LinearMap, rule_names


def test_every_registered_rule_is_held_to_the_contract() -> None:
    """Pooling is no function of the clients' parameters: `test_pooling.py` says what it is held to."""
    assert set(rule_names()) - {"pooling"} <= set(RULES)


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), clients=st.integers(1, 6), dimension=st.integers(2, 4))
def test_rules_fulfil_their_contract(name: str, seed: int, clients: int, dimension: int) -> None:
    rule = make_rule(name, make_laws(stream(seed, "rules"), clients, dimension))
    check_rule(rule, exact_map(rule), dimension, seed)


@pytest.mark.parametrize("name", RULES)
def test_only_linear_rules_have_a_closed_form_law_and_weights(name: str) -> None:
    rule = make_rule(name, make_laws(stream(0, "rules"), 3, 2))
    assert isinstance(rule, GaussianRule) == (name in LINEAR)
    assert isinstance(rule, LinearMap) == (name in LINEAR)
