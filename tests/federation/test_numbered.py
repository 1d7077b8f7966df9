import pytest
import torch
from problems import vector

from fedcert.federation.joint import JointDraws
from fedcert.federation.numbered import BlockDraws, GaussianDraws, Numbered, draws_of, joint_draws
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.randomness import stream
from fedcert.rules import LinearRule, TrimmedMean

LAWS = [
    DiagonalGaussian(vector(3.0, 0.7, 0.0), vector(0.1, 1.0, 2.0)),
    DiagonalGaussian(vector(-3.0, -0.2, 1.0), vector(2.0, 0.5, 0.0)),
]
MIXTURE = GaussianMixture(tuple(LAWS), vector(1.0, 1.0))
RULE = LinearRule.fedavg([1, 3])
KINDS = {
    "gaussian": (lambda g: draws_of(LAWS[0], g), GaussianDraws),
    "mixture": (lambda g: draws_of(MIXTURE, g), BlockDraws),
    "fedavg": (lambda g: joint_draws(LAWS, RULE, g), GaussianDraws),
    "median": (lambda g: joint_draws([*LAWS, LAWS[0]], TrimmedMean.median(3), g), BlockDraws),
}


@pytest.fixture(params=KINDS)
def draws(request: pytest.FixtureRequest) -> Numbered:
    make, kind = KINDS[request.param]
    made = make(stream(0, "draws"))
    assert isinstance(made, kind)
    return made


def test_a_draw_depends_on_its_number_alone(draws: Numbered) -> None:
    everything = draws(0, 50)
    assert torch.equal(everything, torch.cat([draws(0, 7), draws(7, 20), draws(27, 1), draws(28, 22)]))
    assert len(everything.unique(dim=0)) == 50


@pytest.mark.parametrize("kind", KINDS)
def test_the_generator_decides_the_draws(kind: str) -> None:
    make, _ = KINDS[kind]
    same, again, other = (make(stream(seed, "draws"))(3, 40) for seed in (0, 0, 1))
    assert torch.equal(same, again)
    assert not torch.equal(same, other)


@pytest.mark.slow
@pytest.mark.parametrize("laws", [LAWS, [MIXTURE, LAWS[1]]], ids=["gaussians", "mixture"])
def test_joint_draws_have_the_moments_of_the_aggregate(laws) -> None:
    found = joint_draws(laws, RULE, stream(0, "moments"))(0, 20_000).double()
    exact = JointDraws(laws, RULE).sample(20_000, stream(1, "moments"))
    assert torch.allclose(found.mean(0), exact.mean(0), atol=0.08)
    assert torch.allclose(found.std(0), exact.std(0), atol=0.08)
