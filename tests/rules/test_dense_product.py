"""Products of dense Gaussian densities, against their closed form in ball arithmetic."""

import pytest
import torch
from dependent_problems import law as structured
from flint import arb, arb_mat, ctx
from problems import normal, uniform

from fedcert.errors import InvalidConfig, InvalidLaw, ShapeMismatch
from fedcert.laws import (
    BlockGaussian,
    DenseBlock,
    DenseGaussian,
    DiagonalGaussian,
    GaussianLaw,
    GaussianMixture,
)
from fedcert.model.network import mlp
from fedcert.randomness import stream
from fedcert.rules import LinearRule, RuleContext, StatedGaussian, build_rule
from fedcert.rules.dense_product import dense_product

N = 5


def laws(count: int = 3, seed: int = 0) -> list[DenseGaussian]:
    generator = stream(seed, "product")
    return [DenseGaussian(normal(generator, N), normal(generator, N, N + 1)) for _ in range(count)]


def matrix(values: torch.Tensor) -> arb_mat:
    rows = values if values.dim() == 2 else values.unsqueeze(-1)
    return arb_mat(rows.shape[0], rows.shape[1], [arb(v) for v in rows.flatten().tolist()])


def closed_form(
    clients: list[DenseGaussian], weights: list[float], prior_scale: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and covariance, with 300 bits."""
    with ctx.workprec(300):
        precision, pull = arb_mat(N, N), arb_mat(N, 1)
        for w, law in zip(weights, clients, strict=True):
            F = matrix(law.factor)
            own = (F * F.transpose()).inv() * arb(w)
            precision, pull = precision + own, pull + own * matrix(law.loc)
        for d in range(N):
            prior = 0 if prior_scale is None else (len(clients) - 1) / arb(prior_scale) ** 2
            precision[d, d] = precision[d, d] - prior
        covariance = precision.inv()
        mean = covariance * pull
        found = [[float(own.mid()) for own in table.entries()] for table in (mean, covariance)]
    return torch.tensor(found[0], dtype=torch.float64), torch.tensor(found[1], dtype=torch.float64).view(N, N)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "weights", "prior_scale"),
    [("pog", None, None), ("reverse-kl", [0.2, 0.5, 0.3], None), ("prior-corrected", None, 20.0)],
)
def test_it_is_the_normalised_product(
    name: str, weights: list[float] | None, prior_scale: float | None
) -> None:
    clients = laws()
    given = None if weights is None else torch.tensor(weights, dtype=torch.float64).unsqueeze(-1)
    rule = dense_product(clients, name, given, prior_scale)
    mean, covariance = closed_form(clients, weights or [1.0] * 3, prior_scale)
    torch.testing.assert_close(rule.loc, mean, rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(rule.factor @ rule.factor.mT, covariance, rtol=1e-11, atol=1e-11)
    deployed = rule.pushforward(clients)
    assert torch.equal(deployed.loc, rule.loc)
    assert deployed.loc_error is None
    assert deployed.factor_error == 0


def test_of_independent_parameters_it_is_the_linear_rule() -> None:
    generator = stream(1, "product")
    diagonal = [DiagonalGaussian(normal(generator, N), 0.1 + uniform(generator, N)) for _ in range(3)]
    expected = LinearRule.product_of_gaussians(diagonal).pushforward(diagonal)
    mixed: list[GaussianLaw] = [DenseGaussian.of(diagonal[0]), *diagonal[1:]]
    rule = build_rule("pog", RuleContext(mixed, None))
    assert isinstance(rule, StatedGaussian)
    torch.testing.assert_close(rule.loc, expected.loc)
    torch.testing.assert_close((rule.factor @ rule.factor.mT), torch.diag(expected.scale.square()))


def test_a_last_layer_keeps_what_is_fixed() -> None:
    network, generator = mlp(2, 3, 2), stream(2, "product")
    loc = normal(generator, network.parameters)
    clients = [structured(generator, network, "last", loc, 0.1) for _ in range(2)]
    rule = build_rule("conflation", RuleContext(clients, None))
    assert isinstance(rule, StatedGaussian)
    assert rule.name == "conflation"
    assert rule.start == 9
    assert rule.factor.shape == (8, 8)
    torch.testing.assert_close(rule.loc[:9], loc[:9], rtol=1e-15, atol=0)


def test_blocks_are_multiplied_too() -> None:
    clients = laws(2)
    diagonal = DiagonalGaussian(torch.zeros(N).double(), torch.ones(N).double())
    blocks = [BlockGaussian(law.loc, (DenseBlock(0, law.factor),)) for law in clients]
    one, other = (dense_product([*own, diagonal], "pog") for own in (clients, blocks))
    assert torch.equal(one.factor, other.factor)


def singular() -> DenseGaussian:
    return DenseGaussian(torch.zeros(N).double(), torch.ones(N, N).double())


def half_fixed() -> DenseGaussian:
    factor = torch.eye(N).double()
    factor[2] = 0
    return DenseGaussian(torch.zeros(N).double(), factor)


def kronecker() -> BlockGaussian:
    network, generator = mlp(1, 1), stream(3, "kron")
    found = structured(generator, network, "kronecker", torch.zeros(2).double(), 1.0)
    assert isinstance(found, BlockGaussian)
    return found


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ([singular(), *laws(1)], "a covariance is singular"),
        ([DenseGaussian(torch.zeros(N).double(), torch.ones(N, 1).double())], "a factor of 1 columns for 5"),
        ([half_fixed(), *laws(1)], "some clients fix parameter 2 and others do not"),
        ([DenseGaussian(torch.zeros(N).double(), torch.zeros(N, 1).double())], "no parameter is random"),
        ([kronecker(), kronecker()], "no Kronecker factors in general"),
    ],
)
def test_what_has_no_product_says_so(own: list[GaussianLaw], words: str) -> None:
    with pytest.raises(InvalidLaw, match=words):
        build_rule("pog", RuleContext(own, None))


def test_what_is_too_ill_conditioned_says_so() -> None:
    """A factor whose columns nearly agree: its inverse has few digits that are right."""
    nearly = torch.ones(N, N).double() + 1e-9 * normal(stream(4, "nearly"), N, N)
    with pytest.raises(InvalidLaw, match=r"ill-conditioned|singular"):
        dense_product([DenseGaussian(torch.zeros(N).double(), nearly), *laws(1)], "pog")


def test_a_prior_that_is_too_narrow_is_refused() -> None:
    with pytest.raises(InvalidConfig, match=r"prior_scale.*choose the rule"):
        dense_product(laws(), "prior-corrected", prior_scale=0.1)


def test_mixtures_and_other_laws_are_refused() -> None:
    component = DiagonalGaussian(torch.zeros(N).double(), torch.ones(N).double())
    mixture = GaussianMixture((component, component), torch.ones(2).double())
    with pytest.raises(InvalidLaw, match=r"mixture|depend on each other"):
        build_rule("pog", RuleContext([mixture, *laws(1)], None))
    for name in ("wasserstein", "forward-kl", "averaged-variances"):
        with pytest.raises(InvalidLaw, match="depend on each other"):
            build_rule(name, RuleContext(laws(), None))
    with pytest.raises(ShapeMismatch, match="different numbers of parameters"):
        dense_product([*laws(1), kronecker()], "pog")
