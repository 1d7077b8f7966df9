import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform
from rule_cases import make_laws

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.laws import DiagonalGaussian
from fedcert.randomness import stream
from fedcert.rules import with_law
from fedcert.rules.with_law import stacked


@given(seed=st.integers(0, 2**32), clients=st.integers(1, 5), log_scale=st.floats(-12, 12))
def test_every_law_is_the_law_of_a_rule_in_every_direction(seed, clients, log_scale) -> None:
    generator = stream(seed, "with law")
    laws = make_laws(generator, clients, 3)
    loc, scale = normal(generator, 3), 10**log_scale * (0.1 + uniform(generator, 3))
    for directions in (None, normal(generator, clients, 3), normal(generator, clients, 1)):
        rule = with_law(laws, loc, scale, "mine", directions)
        pushed = rule.pushforward(laws)
        size = (rule.weights.abs() * stacked(laws)[0].abs()).sum(0) + loc.abs()
        assert ((pushed.loc - loc).abs() <= 1e-14 * size).all()
        torch.testing.assert_close(pushed.scale, scale, rtol=1e-14, atol=0)
        assert rule.name == "mine"


def test_a_law_cannot_be_uncertain_of_what_no_client_contributes_noise_to() -> None:
    laws = make_laws(stream(0, "with law"), 2, 3)
    directions = torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]]).double()
    with pytest.raises(InvalidLaw, match="mine: no client is uncertain of parameter 1"):
        with_law(laws, torch.zeros(3).double(), torch.ones(3).double(), "mine", directions)


def test_clients_of_different_networks_are_refused() -> None:
    laws = [DiagonalGaussian(torch.zeros(n).double(), torch.ones(n).double()) for n in (2, 3)]
    with pytest.raises(ShapeMismatch, match=r"\[2, 3\] parameters"):
        stacked(laws)
