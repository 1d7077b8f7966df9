import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal, uniform, vector
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.projected.centre import LinearForm
from fedcert.families.projected.chernoff import Moments, deviation, moments, own_moments, rough_mean
from fedcert.randomness import stream

SAMPLES = 15_000
RATES = (0.3, 0.7, 1.0, 1.5, 2.5)


def make_form(seed: int, neurons: int, noise: float, later: int, shift: float = 0.0) -> LinearForm:
    """A form of one property and two rows."""
    generator = stream(seed, "form")
    coefficient, mean = normal(generator, 1, 2, neurons), normal(generator, 1, 2, neurons) + shift
    scale = 0.2 + uniform(generator, 1, neurons)
    return LinearForm(
        normal(generator, 1, 2),
        coefficient,
        mean,
        noise * uniform(generator, 1, 2, neurons),
        0.1 + uniform(generator, 1, 2),
        tuple(0.5 * uniform(generator, 1, 2) for _ in range(later)),
        scale,
    )


def sampled(form: LinearForm, count: int, generator: torch.Generator) -> Tensor:
    """Y for each row, with later noise of exactly the largest deviation."""
    rows, neurons = form.coefficient.shape[1:]
    z = normal(generator, count, 1, neurons)
    h = (form.mean[0] + form.scale[0] * z).clamp(min=0.0)
    slopes = form.coefficient[0] + form.noise[0] * normal(generator, count, rows, neurons)
    total = form.constant[0] + (slopes * h).sum(-1) + form.bias_noise[0] * normal(generator, count, rows)
    for s in form.later:
        total = total + s[0] * normal(generator, count, rows)
    return total


def rates(*multiples: float) -> Tensor:
    return vector(*multiples).view(-1, 1, 1)


@pytest.mark.parametrize(("neurons", "noise", "later"), [(1, 0.0, 0), (3, 0.2, 0), (8, 0.1, 1), (8, 0.4, 3)])
def test_tails_are_above_the_frequencies_of_samples(neurons: int, noise: float, later: int) -> None:
    form = make_form(neurons, neurons, noise, later)
    y = sampled(form, SAMPLES, stream(neurons, "samples"))
    found = moments(form, rates(*RATES))
    centre, spread = rough_mean(form), deviation(form)
    for sigmas in (-0.5, 0.5, 1.0, 1.5, 2.0, 3.0):
        at = centre - sigmas * spread
        probability = found.probability(at)[0][0]
        for row in range(2):
            low, _ = clopper_pearson(int((y[:, row] <= at[0, row]).sum()), SAMPLES, 1 - 1e-7)
            assert low <= probability[row]
            assert sigmas < 3 or probability[row] < 0.2


@pytest.mark.parametrize("failure", [0.3, 0.1, 1e-2, 1e-3])
@pytest.mark.parametrize(("neurons", "noise", "later"), [(1, 0.0, 0), (3, 0.2, 0), (8, 0.1, 1), (8, 0.4, 3)])
def test_quantiles_are_undercut_no_more_often_than_stated(neurons, noise, later, failure: float) -> None:
    form = make_form(neurons, neurons, noise, later)
    quantile = moments(form, rates(*RATES)).quantile(vector(failure))[0][0]
    y = sampled(form, SAMPLES, stream(neurons, "samples"))
    assert (quantile > rough_mean(form)[0] - 8 * deviation(form)[0]).all()
    for row in range(2):
        low, _ = clopper_pearson(int((y[:, row] <= quantile[row]).sum()), SAMPLES, 1 - 1e-7)
        assert low <= failure


@pytest.mark.parametrize("failure", [0.3, 0.1, 1e-2, 1e-3])
@pytest.mark.parametrize(("neurons", "noise", "later"), [(3, 0.2, 0), (8, 0.0, 0), (8, 0.1, 1), (8, 0.4, 3)])
def test_quantiles_with_the_tail_of_the_own_noise_are_undercut_no_more_often(
    neurons, noise, later, failure: float
) -> None:
    """For the largest deviation, and for one that is chosen against the bound."""
    form = make_form(neurons, neurons, noise, later)
    form = form if later else replace(form, noise=torch.zeros_like(form.noise))
    reach = form.later[0] if later else form.bias_noise
    quantile = own_moments(form, reach, rates(*RATES)).quantile(vector(failure))[0][0]
    assert (quantile >= moments(form, rates(*RATES)).quantile(vector(failure))[0][0]).all()
    generator = stream(neurons, "samples")
    x = sampled(form.without_own_noise(), SAMPLES, generator)
    own = reach[0] * normal(generator, SAMPLES, 2)
    for y in (x + own, torch.where(x > quantile, x + own, x)):
        for row in range(2):
            low, _ = clopper_pearson(int((y[:, row] <= quantile[row]).sum()), SAMPLES, 1 - 1e-7)
            assert low <= failure


def test_own_noise_alone_has_the_quantiles_of_a_normal() -> None:
    nothing, one = torch.zeros(1, 1, 1).double(), torch.ones(1, 1).double()
    form = LinearForm(2 * one, nothing, nothing, nothing, 0 * one, (3 * one,), one)
    multiples = torch.linspace(2.0, 6.0, 200, dtype=torch.float64).view(-1, 1, 1)
    for z in (2.0, 3.0, 4.5):
        failure = torch.special.ndtr(vector(-z))
        quantile = own_moments(form, 3 * one, multiples).quantile(failure)[0].item()
        assert 2 - 3 * z - 1e-3 < quantile <= 2 - 3 * z


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.floats(1e-12, 0.5))
def test_the_tail_of_a_quantile_is_its_failure_probability(seed: int, failure: float) -> None:
    found = moments(make_form(seed, 4, 0.1, 1), rates(*RATES))
    tail, _ = found.probability(found.quantile(vector(failure))[0])
    assert (tail <= failure * (1 + 1e-9)).all()
    assert (tail >= failure * (1 - 1e-9)).all()


@pytest.mark.parametrize("later", [0, 2])
def test_the_exponent_of_an_almost_surely_linear_form_is_gaussian(later: int) -> None:
    """All neurons are 30 and more deviations above 0, and the weights of layer 2 are without noise."""
    form = make_form(2, 5, 0.0, later, shift=60.0)
    mean = form.constant + (form.coefficient * form.mean).sum(-1)
    variance = (form.coefficient**2 * form.scale.unsqueeze(-2) ** 2).sum(-1) + form.bias_noise**2
    variance = variance + sum((s**2 for s in form.later), torch.zeros_like(variance))
    assert torch.allclose(rough_mean(form), mean, rtol=1e-12)
    assert torch.allclose(deviation(form), variance.sqrt(), rtol=1e-9)
    found = moments(form, rates(*RATES))
    expected = -found.rate * mean + found.rate**2 * variance / 2
    assert torch.allclose(found.exponent, expected, rtol=1e-9, atol=1e-9)
    quantile = moments(form, rates(math.sqrt(-2 * math.log(1e-6)))).quantile(vector(1e-6))[0]
    gaussian = mean - variance.sqrt() * math.sqrt(-2 * math.log(1e-6))
    assert torch.allclose(quantile, gaussian, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_exponents_are_those_of_samples(seed: int) -> None:
    """K(λ) = log E exp(−λY) itself, where the later layers have their largest deviation."""
    form = make_form(seed, 3, 0.1, 1)
    found = moments(form, rates(0.5))
    y = sampled(form, SAMPLES, stream(seed, "samples"))
    weights = (-found.rate[0] * y).exp()
    error = 6 * weights.std(0) / math.sqrt(SAMPLES) / weights.mean(0)
    assert ((weights.mean(0).log() - found.exponent[0, 0]).abs() <= 2 * error).all()


def test_rough_moments_are_those_of_samples() -> None:
    form = make_form(7, 6, 0.3, 2)
    y = sampled(form, SAMPLES, stream(7, "samples"))
    assert torch.allclose(y.mean(0), rough_mean(form)[0], atol=0.1)
    assert torch.allclose(y.std(0), deviation(form)[0], rtol=0.05)


def test_nothing_known_is_probability_one_and_no_quantile() -> None:
    for exponent in (math.nan, math.inf):
        unknown = Moments(torch.ones(2, 1, 1, dtype=torch.float64), rates(exponent, exponent))
        assert unknown.probability(vector(0.0).unsqueeze(0))[0].item() == 1.0
        assert unknown.quantile(vector(0.1))[0].item() == -math.inf


def test_one_good_rate_is_enough() -> None:
    found = Moments(torch.ones(3, 1, 1, dtype=torch.float64), rates(math.nan, -5.0, math.inf))
    assert found.probability(vector(0.0).unsqueeze(0))[0].item() == pytest.approx(math.exp(-5), rel=1e-12)
    assert found.quantile(vector(1.0))[0].item() == pytest.approx(5.0, rel=1e-12)


def test_nan_in_a_form_claims_nothing() -> None:
    form = make_form(0, 3, 0.1, 1)
    for name in ("constant", "coefficient", "mean", "noise", "bias_noise", "scale"):
        values = {**vars(form), name: torch.full_like(getattr(form, name), math.nan)}
        found = moments(LinearForm(**values), rates(*RATES))
        assert (found.probability(rough_mean(form) - 100)[0] == 1).all()
        assert (found.quantile(vector(0.1))[0] == -math.inf).all()
