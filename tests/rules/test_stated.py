"""Rules that state the deployed law."""

import pytest
import torch
from problems import normal

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.federation.joint import JointDraws
from fedcert.federation.mean_models import mean_models
from fedcert.laws import DenseGaussian
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import GaussianRule, LinearMap, StatedGaussian
from fedcert.rules.registry import describe_rule, read_rule

N = 3
LAWS = [DenseGaussian(torch.zeros(N).double(), normal(stream(i, "stated"), N, N)) for i in range(2)]
FACTOR = torch.tensor([[2.0, 0.0], [1.0, 1.0]]).double()
RULE = StatedGaussian("pog", 2, torch.arange(3.0).double(), 1, FACTOR)


def test_it_deploys_its_own_law_exactly() -> None:
    assert isinstance(RULE, GaussianRule)
    assert not isinstance(RULE, LinearMap)
    law = RULE.pushforward(LAWS)
    drawn = law.sample(20_000, stream(0, "draws"))
    assert (drawn[:, 0] == 0).all()
    torch.testing.assert_close(drawn[:, 1:].T.cov(), RULE.factor @ RULE.factor.mT, rtol=0.1, atol=0.1)
    assert torch.equal(mean_models(RULE, LAWS).likeliest, RULE.loc)
    assert (JointDraws(tuple(LAWS), RULE).sample(5, stream(0, "draws"))[:, 0] == 0).all()


def test_it_is_no_function_of_the_clients_draws() -> None:
    with pytest.raises(ShapeMismatch, match="a law of its own"):
        RULE([law.loc for law in LAWS])
    with pytest.raises(ShapeMismatch, match="a law of its own"):
        RULE.image([Box.point(law.loc) for law in LAWS])


def test_a_file_holds_it() -> None:
    again = read_rule(*describe_rule(RULE))
    assert isinstance(again, StatedGaussian)
    assert torch.equal(again.factor, RULE.factor)
    assert (again.name, again.clients, again.start) == ("pog", 2, 1)


def test_other_clients_and_other_places_are_refused() -> None:
    with pytest.raises(ShapeMismatch, match="2 clients of 3 parameters"):
        RULE.pushforward(LAWS[:1])
    with pytest.raises(InvalidLaw, match="a block of the parameters 2 to 3"):
        StatedGaussian("pog", 2, RULE.loc, 2, RULE.factor)
