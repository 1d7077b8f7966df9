import math

import pytest
import torch
from balls import precision
from flint import acb, arb, ctx
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from oracles import normal_cdf
from problems import normal, uniform

from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.rectified import Rectified, first_activations
from fedcert.laws import DiagonalGaussian
from fedcert.laws.affine import MAX_NORMAL
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.model.network import mlp
from fedcert.numerics.rectified import log_moment, second_moment
from fedcert.randomness import stream

NU = st.one_of(st.floats(-60, 60), st.floats(-3, 3), st.sampled_from([-60.0, -1.0, 0.0, 1.0, 60.0]))
DEVIATION = st.sampled_from([1e-6, 0.1, 1.0, 3.7, 1e5])


@pytest.fixture(autouse=True)
def many_digits():
    with precision(400):
        yield


def cube(x: float) -> torch.Tensor:
    return torch.tensor([[[x]]], dtype=torch.float64)


def exact_second_moment(mean: float, deviation: float) -> arb:
    ctx.prec = 4000  # far below the mean the two terms cancel
    mu, t = arb(mean), arb(deviation)
    nu = mu / t
    density = (-nu * nu / 2).exp() / (2 * arb.pi()).sqrt()
    value = (mu * mu + t * t) * normal_cdf(nu) + mu * t * density
    ctx.prec = 400
    return value


def closed_form(c: float, q: float, mean: float, deviation: float) -> arb:
    """log E exp(c h + q² h² / 2) from the formula of the documentation, of exact numbers."""
    nu, v, w = arb(mean) / arb(deviation), arb(c) * deviation, (arb(q) * deviation) ** 2
    exponent = (nu * nu * w + 2 * nu * v + v * v) / (2 * (1 - w))
    active = exponent.exp() * normal_cdf((nu + v) / (1 - w).sqrt()) / (1 - w).sqrt()
    return (normal_cdf(-nu) + active).log()


def integrated(c: float, q: float, mean: float, deviation: float) -> arb:
    """The same by integration of the density over all h > 0 that matter: from below, a little."""
    nu, v, w = arb(mean) / arb(deviation), arb(c) * deviation, (arb(q) * deviation) ** 2

    def exponent(z: acb | arb) -> acb | arb:
        return (nu + z) * v + (nu + z) ** 2 * w / 2 - z * z / 2

    peak = float((v + w * nu) / (1 - w))
    start = max(-float(nu) + 1e-12 * abs(float(nu)), peak - 15)
    height = exponent(arb(max(start, peak)))
    ctx.prec = 80
    integral = acb.integral(lambda z, _: (exponent(z) - height).exp(), start, max(start, peak) + 15).real
    ctx.prec = 400
    value = integral * height.exp() / (2 * arb.pi()).sqrt()
    return (normal_cdf(-nu) + value).log()


@given(NU, DEVIATION)
def test_the_second_moment_is_bounded_from_above(nu: float, deviation: float) -> None:
    mean = nu * deviation
    truth = exact_second_moment(mean, deviation)
    found = second_moment(cube(mean)[0], cube(deviation)[0]).item()
    assert truth <= arb(found)
    assert arb(found) <= truth + 1e-9 * (truth if nu > -2 else arb(deviation) ** 2)


@given(NU, NU, st.floats(0.1, 3), st.floats(0.1, 3))
def test_the_second_moment_grows_with_the_mean_and_the_deviation(nu, other, deviation, factor) -> None:
    """What is stated of upper bounds of both, of the exact moments."""
    low, high = min(nu, other), max(nu, other)
    small, large = min(deviation, deviation * factor), max(deviation, deviation * factor)
    assume(low < high and small < large)
    assert exact_second_moment(low, small) < exact_second_moment(high, small)
    assert exact_second_moment(low, small) < exact_second_moment(low, large)


@pytest.mark.slow
@settings(max_examples=300)
@given(NU, DEVIATION, st.floats(-40, 40), st.floats(0, 0.7))
def test_the_log_moment_is_bounded_from_above(nu, deviation, v, root) -> None:
    c, q, mean = v / deviation, root / deviation, nu * deviation
    found = log_moment(cube(c), cube(q), cube(mean), cube(deviation)[0]).item()
    truth = closed_form(c, q, mean, deviation)
    assert truth <= arb(found)
    assert arb(found) <= truth + 1e-9


@settings(max_examples=60)
@given(NU, DEVIATION, st.floats(-40, 40), st.floats(0, 0.7))
def test_the_log_moment_is_above_the_integral_that_defines_it(nu, deviation, v, root) -> None:
    c, q, mean = v / deviation, root / deviation, nu * deviation
    found = log_moment(cube(c), cube(q), cube(mean), cube(deviation)[0]).item()
    truth = integrated(c, q, mean, deviation)
    assert arb(truth.lower()) <= arb(found)
    assert float(truth) == pytest.approx(found, abs=1e-8)


@settings(max_examples=100)
@given(NU, st.floats(-4, 4), st.floats(0, 0.2), st.floats(0.1, 7), st.floats(0.1, 7))
def test_one_rounding_of_the_arguments_is_charged(nu, v, root, deviation, rate) -> None:
    """c = λ A and q = λ r are products that were rounded."""
    A, r, mean = v / deviation, root / deviation, nu * deviation
    found = log_moment(cube(rate * A), cube(rate * r), cube(mean), cube(deviation)[0]).item()
    c, w = arb(rate) * arb(A), (arb(rate) * arb(r) * deviation) ** 2
    assume(found < math.inf)
    exponent_nu, v = arb(mean) / deviation, c * deviation
    active = ((exponent_nu**2 * w + 2 * exponent_nu * v + v * v) / (2 * (1 - w))).exp()
    active *= normal_cdf((exponent_nu + v) / (1 - w).sqrt()) / (1 - w).sqrt()
    assert (normal_cdf(-exponent_nu) + active).log() <= arb(found)


@pytest.mark.parametrize("root", [0.708, 0.999, 1.0, 1.5, 1e200])
def test_the_log_moment_is_infinite_where_the_expectation_nearly_is(root: float) -> None:
    assert log_moment(cube(1.0), cube(root), cube(0.3), cube(1.0)[0]).item() == math.inf


def test_nothing_is_claimed_of_nan() -> None:
    for place in range(4):
        arguments = [cube(1.0), cube(0.1), cube(0.5), cube(1.0)]
        arguments[place] = cube(math.nan)
        *rows, deviation = arguments
        found = log_moment(*rows, deviation[0]).item()
        assert math.isnan(found) or found == math.inf


def first_layer(
    seed: int, inputs: int, error: float, widest: float = 1.0, random: tuple[bool, bool] = (True, True)
) -> DiagonalAffine:
    """A layer whose weights have scales that are so much wider, and whose biases have narrower ones.

    Of weights, and of biases, that are not random some or all are fixed.
    """
    generator = stream(seed, "rectified")
    network = mlp(inputs, 3)
    loc = normal(generator, network.parameters)
    scale = 0.01 + uniform(generator, network.parameters)
    weights, biases = network.unflatten(scale)[0]
    parts = [
        part if own else part * (uniform(generator, part.numel()) < 0.3)
        for part, own in zip((weights.flatten() * widest, biases / widest), random, strict=True)
    ]
    scale = torch.cat(parts)
    inexact = error * uniform(generator, network.parameters) if error else None
    return random_layers(network, DiagonalGaussian(loc, scale, inexact, error))[0]


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.sampled_from([0.0, 1e-12, 1e-2]),
    st.sampled_from([0.0, 1e-170, 1e-150, 1.0, 1e6]),
    st.sampled_from([1.0, 1e97]),
    st.tuples(st.booleans(), st.booleans()),
)
@example(0, 1, 0.0, 1e-170, 1e97, (True, True))
@example(0, 1, 0.0, 1e-170, 1.0, (True, False))
def test_the_first_activations_of_every_law_within_the_error_are_enclosed(
    seed, inputs, error, size, widest, random
) -> None:
    """|μ* − μ| + 40 (t − t*) ≤ error and t* ≤ t, at the extremes of the means and scales."""
    layer = first_layer(seed, inputs, error, widest, random)
    x = size * normal(stream(seed, "x"), 2, inputs)
    found = first_activations(layer, x)
    shrunk = 1 - arb(layer.shrinkage)
    for p in range(2):
        for j in range(layer.outputs):
            mu, variance = arb(layer.bias[j].item()), arb(layer.bias_scale[j].item()) ** 2
            reach = arb(layer.bias_error[j].item())
            for k in range(inputs):
                coordinate = arb(x[p, k].item())
                mu += arb(layer.weight[j, k].item()) * coordinate
                reach += arb(layer.weight_error[j, k].item()) * abs(coordinate)
                variance += (arb(layer.weight_scale[j, k].item()) * coordinate) ** 2
            t, charged = arb(found.deviation[p, j].item()), arb(found.error[p, j].item())
            assert variance.sqrt() <= t
            assert (variance == 0) == (t == 0)
            shift = abs(mu - arb(found.mean[p, j].item())) + reach
            assert shift + arb(MAX_NORMAL) * (t - variance.sqrt() * shrunk) <= charged
    wide = widest > 1 or error > 0
    assert wide or (found.error <= 1e-10 * (found.mean.abs() + found.deviation + size)).all()


def test_the_ceiling_is_above_the_activations() -> None:
    first = first_activations(first_layer(0, 4, 1e-3), normal(stream(0, "x"), 5, 4))
    h = (first.mean + MAX_NORMAL * first.deviation).clamp(min=0.0) + first.error
    assert (first.ceiling >= h).all()
    negative = Rectified(-1e9 * torch.ones(1, 1, dtype=torch.float64), cube(1.0)[0], cube(0.0)[0])
    assert negative.ceiling.item() >= 0
