import torch

from fedcert import DiagonalGaussian, GaussianMixture, LinearRule, stream
from fedcert.federation.deployment import deployed_parameters
from fedcert.rules import Pooling, TrimmedMean

DIMENSION = 20_000
NOISE = 6 / DIMENSION**0.5  # standard errors: one false alarm in a hundred million


def law(mean: float, scale: float) -> DiagonalGaussian:
    return DiagonalGaussian(torch.full((DIMENSION,), mean).double(), torch.full((DIMENSION,), scale).double())


def test_a_linear_rule_deploys_the_weighted_sum_of_independent_draws() -> None:
    theta = deployed_parameters([law(1.0, 3.0), law(5.0, 4.0)], LinearRule.fedavg([1, 1]), stream(0))
    assert abs(theta.mean() - 3.0) < NOISE * 2.5
    assert abs(theta.std() - 2.5) < NOISE * 2.5
    again = deployed_parameters([law(1.0, 3.0), law(5.0, 4.0)], LinearRule.fedavg([1, 1]), stream(0))
    assert torch.equal(theta, again)


def test_a_mixture_is_drawn_from_one_of_its_components() -> None:
    mixture = GaussianMixture((law(-9.0, 1.0), law(9.0, 1.0)), torch.tensor([1.0, 3.0]).double())
    rule, generator = LinearRule.fedavg([1]), stream(0)
    means = torch.stack([deployed_parameters([mixture], rule, generator).mean() for _ in range(40)])
    assert ((means.abs() - 9).abs() < NOISE).all()
    assert 20 < (means > 0).sum() < 40


def test_pooling_deploys_the_draw_of_one_client_and_a_median_that_of_none_alone() -> None:
    laws, generator = [law(-9.0, 1.0), law(0.0, 0.0), law(9.0, 1.0)], stream(0)
    pooling = Pooling(torch.ones(3, 1).double())
    means = {round(deployed_parameters(laws, pooling, generator).mean().item()) for _ in range(20)}
    assert means == {-9, 0, 9}
    assert torch.equal(deployed_parameters(laws, TrimmedMean.median(3), generator), laws[1].loc)
