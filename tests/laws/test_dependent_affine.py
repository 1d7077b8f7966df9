"""What a layer says of dependent weights holds for the weights that are drawn."""

import math

import pytest
import torch
from flint import arb
from fuzz.balls import EXACT, above, balls, dot, precision
from problems import normal, uniform
from torch import Tensor

from fedcert.laws import DenseGaussian
from fedcert.laws.dependent_affine import DependentAffine
from fedcert.laws.noise_parts import coefficients
from fedcert.model.network import mlp
from fedcert.randomness import stream

M, K = 3, 4
SAMPLES = 20_000


def layer(seed: int = 0, loc_error: float = 0.0) -> DependentAffine:
    generator = stream(seed, "dense affine")
    loc, factor = normal(generator, M * K + M), normal(generator, M * K + M, 8) / 3
    error = None if loc_error == 0 else torch.full_like(loc, loc_error)
    return DenseGaussian(loc, factor, error).layers(mlp(K, M))[0]


def drawn(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = stream(seed, "dense affine")
    law = DenseGaussian(normal(generator, M * K + M), normal(generator, M * K + M, 8) / 3)
    theta = law.sample(SAMPLES, stream(seed, "draws")) - law.loc
    return theta[:, : M * K].view(-1, M, K), theta[:, M * K :]


def test_deviations_of_single_inputs_are_those_of_projections() -> None:
    own, rows = layer(), normal(stream(1, "rows"), 1, 5, M)
    noise, nothing = own.noise(rows), torch.zeros(1, K).double()
    for k in range(K):
        unit = nothing.clone()
        unit[0, k] = 1.0
        weights = coefficients(rows, unit)
        weights[..., M * K :] = 0.0
        assert torch.allclose(noise.weight[..., k], own.parts[0].covariance.of_projection(weights), rtol=1e-9)
    assert torch.allclose(noise.bias, noise.at(nothing), rtol=1e-9)


@pytest.mark.parametrize("u", [0.5, 1.0, 2.0])
def test_noise_over_a_box_exceeds_its_bound_no_more_often_than_stated(u: float) -> None:
    own, rows, delta = layer(), normal(stream(1, "rows"), 1, 6, M), uniform(stream(1, "delta"), 1, K)
    weights, _ = drawn()
    values = (rows[0] @ weights).abs() @ delta[0]
    bound = own.noise(rows).over(delta, torch.full((1,), u, dtype=torch.float64))
    share = (values > bound).double().mean(0)
    assert (share <= math.exp(-u * u / 2) + 4 / SAMPLES**0.5).all()


def test_noise_over_a_box_is_not_that_of_independent_weights() -> None:
    """Where all inputs share one normal, widths add up: a bound with their root mean square is wrong."""
    ones = torch.ones(K + 1, 1).double()
    own = DenseGaussian(torch.zeros(K + 1).double(), ones).layers(mlp(K, 1))[0]
    u, rows, delta = torch.full((1,), 3.0).double(), torch.ones(1, 1, 1).double(), torch.ones(1, K).double()
    bound = own.noise(rows).over(delta, u).item()
    assert bound >= K * (math.sqrt(2 / math.pi) + 3)
    independent = K * math.sqrt(2 / math.pi) + 3 * math.sqrt(K)
    exceeded = math.erfc(independent / K / math.sqrt(2))
    assert exceeded > math.exp(-4.5)  # what the bound for independent weights would have to stay below


def test_deviations_within_a_box_bound_those_at_all_its_points() -> None:
    own, rows = layer(), normal(stream(1, "rows"), 2, 5, M)
    low = uniform(stream(2, "box"), 2, K)
    high = low + uniform(stream(3, "box"), 2, K)
    noise = own.noise(rows)
    bound = noise.within(low, high)
    for seed in range(40):
        share = (
            (normal(stream(seed, "inside"), 2, K) > 0).double()
            if seed % 2
            else uniform(stream(seed, "in"), 2, K)
        )
        assert (noise.at(low + share * (high - low)) <= bound).all()


@pytest.mark.parametrize("u", [1.0, 2.0])
def test_the_spread_of_inputs_exceeds_its_bound_no_more_often_than_stated(u: float) -> None:
    own, rows, delta = layer(), uniform(stream(1, "rows"), 1, 2, M), uniform(stream(1, "delta"), 1, K)
    weights = own.weight + drawn()[0]
    values = (rows[0].square() @ weights.square()).sqrt() @ delta[0]
    bound = own.spread_inputs(rows, delta, torch.full((1,), u, dtype=torch.float64))
    assert ((values > bound).double().mean(0) <= math.exp(-u * u / 2) + 4 / SAMPLES**0.5).all()


def test_means_are_enclosed_for_every_law_within_the_error() -> None:
    own, rows, x = layer(loc_error=1e-3), normal(stream(1, "rows"), 1, 2, M), normal(stream(2, "x"), 1, K)
    product, product_error = own.product(rows)
    offset, offset_error = own.offset(rows)
    at = own.at(x)
    for seed in range(20):
        W = own.weight + 1e-3 * normal(stream(seed, "error"), M, K).sign()
        b = own.bias + 1e-3 * normal(stream(seed, "bias"), M).sign()
        with precision(EXACT):
            exact = [[dot(balls(row), balls(column)) for column in W.mT] for row in rows[0]]
            assert all(
                abs(e - arb(p)) <= arb(r)
                for row, ps, rs in zip(exact, product[0].tolist(), product_error[0].tolist(), strict=True)
                for e, p, r in zip(row, ps, rs, strict=True)
            )
            biases = [dot(balls(row), balls(b)) for row in rows[0]]
            assert all(
                abs(e - arb(o)) <= arb(r)
                for e, o, r in zip(biases, offset[0].tolist(), offset_error[0].tolist(), strict=True)
            )
            means = [dot(balls(row), balls(x[0])) + arb(v) for row, v in zip(W, b.tolist(), strict=True)]
            assert all(
                abs(e - arb(m)) <= arb(r)
                for e, m, r in zip(means, at.mean[0].tolist(), at.error[0].tolist(), strict=True)
            )


def test_the_charge_covers_a_cancelling_gram_matrix() -> None:
    """Rows whose noise is the same but for the last digits: nearly all of it cancels."""
    column = torch.tensor([1.0, 1.0 + 2.0**-30, 1.0, 1.0, 0.0, 0.0]).double().unsqueeze(-1)
    own = DenseGaussian(torch.zeros(6).double(), column / 3).layers(mlp(2, 2))[0]
    rows, delta = torch.tensor([[[1.0, -1.0]]]).double(), torch.ones(1, 2).double()
    found = own.noise(rows).steepest(delta).item()
    with precision(EXACT):
        W = balls((column / 3)[:4, 0])
        exact = abs(W[0] - W[2]) + abs(W[1] - W[3])
        assert above(found, exact)
    assert found < 1e-6


def test_what_underflows_between_rows_is_charged_before_it_is_multiplied_on() -> None:
    """The covariance of B W̃ is 1e-320 or less, a subnormal number; along 1e100 the deviation is 1e-60."""
    law = DenseGaussian(torch.zeros(2).double(), torch.tensor([[1.0], [0.0]]).double())
    (own,) = law.layers(mlp(1, 1))
    noise = own.noise(torch.tensor([[[1e-165]]], dtype=torch.float64))
    along = noise.along(torch.tensor([[[1e100]]], dtype=torch.float64))
    assert along.item() >= 1e-65


def test_tiny_rows_and_huge_deviations_do_not_underflow_on_the_way() -> None:
    rows = torch.full((1, 1, 2), 1e-171, dtype=torch.float64)
    factor = torch.zeros(8, 1).double()
    factor[:6] = 1e40
    noise = DenseGaussian(torch.zeros(8).double(), factor).layers(mlp(3, 2))[0].noise(rows)
    exact = 2e-131  # of two weights that one normal moves
    assert exact <= noise.weight.min() <= noise.weight.max() < 1.001 * exact
    assert 3 * exact <= noise.over(torch.ones(1, 3).double(), torch.full((1,), 8.0).double()).item()
