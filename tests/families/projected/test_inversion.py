import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from balls import precision
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import normal_cdf
from problems import normal, uniform
from scipy.special import wofz

from fedcert.families.projected import inversion
from fedcert.families.projected.inversion import ERROR, Row, _rectified, characteristic, lower_tail
from fedcert.randomness import stream

NU = st.one_of(st.floats(-40, 40), st.floats(-3, 3), st.sampled_from([-40.0, 0.0, 1e-9, 40.0]))


@pytest.fixture(autouse=True)
def many_digits():
    with precision(4000):
        yield


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def make_row(seed: int, neurons: int, noise: float, shift: float, lowest: float, highest: float) -> Row:
    generator = stream(seed, "row")
    return Row(
        normal(generator, 1).item(),
        normal(generator, neurons).numpy(),
        noise * uniform(generator, neurons).numpy(),
        0.1 + uniform(generator, 1).item(),
        ((lowest, highest),),
        normal(generator, neurons).numpy() + shift,
        0.1 + uniform(generator, neurons).numpy(),
    )


def lone(constant: float, bias_noise: float, lowest: float = 0.0, highest: float = 0.0) -> Row:
    """A form whose only neuron does nothing."""
    none, one = array(0.0), array(1.0)
    return Row(constant, none, none, bias_noise, ((lowest, highest),), none, one)


def moments(row: Row) -> tuple[float, float]:
    """Mean and deviation of Y, roughly."""
    nu = row.mean / row.deviation
    below, density = np.array([math.erfc(-n / math.sqrt(2)) / 2 for n in nu]), np.exp(-nu * nu / 2)
    density = density * row.deviation / math.sqrt(2 * math.pi)
    mean = row.mean * below + density
    square = (row.mean**2 + row.deviation**2) * below + row.mean * density
    centre = row.constant + (row.coefficient * mean).sum()
    centre -= sum(highest - lowest for lowest, highest in row.later) / math.sqrt(2 * math.pi)
    variance = row.coefficient**2 * (square - mean**2) + row.noise**2 * square
    total = variance.sum() + row.bias_noise**2 + sum(highest**2 for _, highest in row.later)
    return float(centre), math.sqrt(total)


def complex_cdf(z: acb) -> acb:
    return (-z / arb(2).sqrt()).erfc() / 2


def exact_factor(c: arb, q: arb, mean: float, deviation: float) -> acb:
    """E exp(i c h − q² h²/2), in closed form with many digits."""
    nu, v, x = arb(mean) / arb(deviation), c * arb(deviation), (q * arb(deviation)) ** 2
    exponent = acb(-nu * nu * x - v * v, 2 * nu * v) / (2 * (1 + x))
    return normal_cdf(-nu) + exponent.exp() * complex_cdf(acb(nu, v) / (1 + x).sqrt()) / (1 + x).sqrt()


def exact_characteristic(row: Row, tau: float) -> acb:
    t = arb(tau)
    value = acb(-((t * row.bias_noise) ** 2) / 2, t * row.constant).exp()
    columns = (row.coefficient, row.noise, row.mean, row.deviation)
    for a, r, mean, deviation in zip(*(c.tolist() for c in columns), strict=True):
        value *= exact_factor(t * a, t * r, mean, deviation)
    for lowest, highest in row.later:
        halves = exact_factor(-t * highest, arb(0), 0.0, 1.0) + exact_factor(t * lowest, arb(0), 0.0, 1.0)
        value *= halves - 1  # either one is ½ where the other one counts
    return value


def distance(found: complex, truth: acb) -> arb:
    return abs(acb(found.real, found.imag) - truth)


def integral_tail(row: Row) -> arb:
    """Pr(Y < 0) for one neuron and no later layer, or for one later layer and no neuron.

    Integrates the normal tail of Y, given h or Z, over all that matters: a little from below.
    """
    ctx.prec = 64
    a, r, mean, t = (arb(float(c[0])) for c in (row.coefficient, row.noise, row.mean, row.deviation))
    g, b = arb(row.constant), arb(row.bias_noise)

    def given_h(z: acb, analytic: bool) -> acb:
        h = mean + t * z
        scale = (r * r * h * h + b * b).sqrt(analytic=analytic)
        return complex_cdf(-(g + a * h) / scale) * (-z * z / 2).exp()

    at_zero, root = normal_cdf(-g / b), (2 * arb.pi()).sqrt()
    if any(highest for _, highest in row.later):
        ((lowest, highest),) = row.later

        def given_z(s: float) -> arb:
            def density(z: acb, _analytic: bool) -> acb:
                return complex_cdf(-(g - s * z) / b) * (-z * z / 2).exp()

            return acb.integral(density, 0, 11).real / root

        value = given_z(highest) + given_z(-lowest)
    else:
        start = min(11.0, max(-11.0, -float(mean / t)))
        value = normal_cdf(-mean / t) * at_zero + acb.integral(given_h, start, 11).real / root
    ctx.prec = 4000
    return value


@pytest.mark.slow
@settings(max_examples=300)
@given(st.floats(-60, 60), st.floats(0, 60))
def test_the_faddeeva_function_is_within_its_charged_error(real: float, imaginary: float) -> None:
    z = acb(real, imaginary)
    truth = (-z * z).exp() * (z * acb(0, -1)).erfc()
    assert distance(complex(wofz(complex(real, imaginary))), truth) <= arb(ERROR)


@pytest.mark.slow
@settings(max_examples=300)
@given(NU, st.sampled_from([0.01, 1.0, 30.0]), st.floats(-60, 60), st.floats(0, 20))
def test_a_factor_is_within_its_charged_error(nu: float, deviation: float, v: float, root: float) -> None:
    mean, c, q = nu * deviation, v / deviation, root / deviation
    value, error = _rectified(array(c), array(q), array(mean), array(deviation))
    truth = exact_factor(arb(c), arb(q), mean, deviation)
    assert distance(complex(value[0]), truth) <= arb(float(error[0]))


@pytest.mark.parametrize("nu", [-5.0, -0.3, 0.0, 0.7, 6.0])
@pytest.mark.parametrize(("v", "root"), [(0.0, 0.5), (1.3, 0.0), (-4.0, 0.8), (9.0, 3.0)])
def test_the_closed_form_of_a_factor_is_its_integral(nu: float, v: float, root: float) -> None:
    truth = exact_factor(arb(v), arb(root), nu, 1.0)
    ctx.prec = 64

    def integrand(z: acb, _analytic: bool) -> acb:
        h = z + nu
        return (acb(0, 1) * v * h - (root * h) ** 2 / 2 - z * z / 2).exp()

    integral = acb.integral(integrand, -nu, max(-nu, 0) + 13) / (2 * arb.pi()).sqrt() + normal_cdf(arb(-nu))
    assert float(abs(integral - truth)) < 1e-15


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.1, 2.0]),
    st.sampled_from([-8.0, 0.0, 8.0, 300.0]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([0.0, 0.7]),
)
def test_the_characteristic_function_is_within_its_charged_error(
    seed, neurons, noise, shift, lowest, highest
) -> None:
    row = make_row(seed, neurons, noise, shift, lowest, highest)
    tau = np.exp(6 * uniform(stream(seed, "tau"), 4).numpy() - 4)
    value, error = characteristic(row, tau)
    for found, charged, t in zip(value.tolist(), error.tolist(), tau.tolist(), strict=True):
        assert distance(found, exact_characteristic(row, t)) <= arb(charged)
    assert shift == 300.0 or error.max() < 1e-10


@pytest.mark.parametrize("sigmas", [-2.0, 0.0, 0.5, 1.0, 3.0, 4.5])
@pytest.mark.parametrize("neurons", [1, 6, 40])
def test_the_tail_of_an_almost_surely_linear_form_is_gaussian(neurons: int, sigmas: float) -> None:
    row = make_row(neurons, neurons, 0.0, 60.0, 0.0, 0.0)
    centre, spread = moments(row)
    row = replace(row, constant=row.constant - centre + sigmas * spread)
    mean, variance = arb(row.constant), arb(row.bias_noise) ** 2
    for a, mu, t in zip(row.coefficient.tolist(), row.mean.tolist(), row.deviation.tolist(), strict=True):
        mean, variance = mean + arb(a) * mu, variance + (arb(a) * t) ** 2
    truth = normal_cdf(-mean / variance.sqrt())
    found = lower_tail(row, *moments(row))
    assert truth <= arb(found)
    assert found == pytest.approx(float(truth), abs=1e-8)


@pytest.mark.parametrize("sigmas", [-1.0, 0.0, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("nu", [-3.0, -0.5, 0.0, 0.8, 4.0])
@pytest.mark.parametrize(("coefficient", "noise"), [(1.0, 0.0), (-1.0, 0.05), (3.0, 0.05)])
def test_the_tail_of_one_neuron_is_that_of_its_integral(nu, sigmas, coefficient, noise) -> None:
    """One neuron has tails beyond ten of its deviations, so a wider step is asked for."""
    row = Row(0.0, array(coefficient), array(noise), 0.3, (), array(0.7 * nu), array(0.7))
    centre, spread = moments(row)
    row = replace(row, constant=sigmas * spread - centre)
    truth = integral_tail(row)
    found = lower_tail(row, sigmas * spread, max(spread, abs(coefficient)))
    assert truth.lower() <= arb(found)
    assert found == pytest.approx(float(truth), abs=1e-8)


@pytest.mark.parametrize("sigmas", [-1.0, 0.0, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("noise", [0.1, 0.2, 0.5, 2.0])
def test_the_tail_of_one_noisy_neuron_is_bounded_though_moments_are_infinite(noise, sigmas) -> None:
    row = Row(0.0, array(-1.0), array(noise), 0.3, (), array(0.5), array(0.7))
    centre, spread = moments(row)
    row = replace(row, constant=sigmas * spread - centre)
    assert integral_tail(row).lower() <= arb(lower_tail(row, *moments(row)))


@pytest.mark.parametrize("sigmas", [-1.0, 0.0, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(("lowest", "highest"), [(0.0, 1.0), (0.9, 1.0), (0.0, 0.2), (0.2, 0.2)])
def test_the_tails_of_later_noise_are_those_of_their_integrals(sigmas, lowest, highest) -> None:
    row = lone(sigmas * math.hypot(0.2, highest), 0.2, lowest, highest)
    truth, found = integral_tail(row), lower_tail(row, *moments(row))
    assert truth.lower() <= arb(found)
    assert found == pytest.approx(float(truth), abs=1e-8)


@pytest.mark.parametrize("sigmas", [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0])
def test_later_noise_alone_has_its_largest_deviation_below_and_its_least_above(sigmas: float) -> None:
    row = lone(sigmas, 0.01, 0.8, 1.0)
    expected = float(normal_cdf(arb(-sigmas / (1.0 if sigmas > 0 else 0.8))))
    assert lower_tail(row, *moments(row)) == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("deviation", [0.8, 0.87, 1.0])
@pytest.mark.parametrize("shift", [-1.0, 0.1, 1.5])
def test_noise_of_any_deviation_between_the_bounds_has_no_larger_tail(deviation: float, shift: float) -> None:
    row = replace(make_row(3, 4, 0.05, 0.0, 0.8, 1.0), constant=shift)
    between = replace(row, later=((deviation, deviation),))
    assert lower_tail(between, *moments(between)) <= lower_tail(row, *moments(row)) + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_the_tail_does_not_grow_with_the_constant(seed: int) -> None:
    row = make_row(seed, 4, 0.05, 0.0, 0.1 * (seed % 2), 0.1 * (seed % 3))
    centre, spread = moments(row)
    shifts = [spread * s - centre for s in (-3.0, -1.0, -0.1, 0.0, 0.1, 1.0, 2.0, 3.0)]
    rows = [replace(row, constant=row.constant + s) for s in shifts]
    tails = [lower_tail(r, *moments(r)) for r in rows]
    assert all(after <= before for before, after in pairwise(tails))
    assert tails[-1] < 0.02 < 0.9 < tails[0]


@pytest.mark.parametrize("seed", range(6))
def test_the_tail_hardly_depends_on_rough_moments(seed: int) -> None:
    """Centre and spread only choose the step: what they get wrong is charged."""
    row = make_row(seed, 4, 0.1, 0.5, 0.1, 0.1)
    centre, spread = moments(row)
    row = replace(row, constant=row.constant - centre + spread)
    reference = lower_tail(row, spread, spread)
    for c, s in [(0.5, 1.0), (2.0, 1.0), (1.0, 1.5), (0.0, 2.0)]:
        assert lower_tail(row, c * spread, s * spread) == pytest.approx(reference, abs=1e-7)
    assert lower_tail(row, 0.1 * spread, 0.05 * spread) >= reference - 1e-7


def test_the_tail_of_a_form_without_enough_noise_is_still_bounded() -> None:
    """No Gaussian noise to speak of: what is left out after the last term is charged."""
    for bias_noise in (1e-3, 1e-6, 1e-100):
        row = Row(0.2, array(1.0), array(0.0), bias_noise, (), array(-0.5), array(1.0))
        assert lower_tail(row, *moments(row)) >= 0.0
        row = replace(row, constant=-0.2)
        assert lower_tail(row, *moments(row)) >= float(normal_cdf(arb(0.7)))


@pytest.mark.parametrize(
    ("centre", "spread"),
    [
        (math.nan, 1.0),
        (math.inf, 1.0),
        (-math.inf, 1.0),
        (1.0, math.nan),
        (1.0, math.inf),
        (1.0, 0.0),
        (1, -1),
    ],
)
def test_nothing_is_claimed_without_moments(centre: float, spread: float) -> None:
    assert lower_tail(lone(100.0, 1.0), float(centre), float(spread)) == 1.0


@pytest.mark.parametrize(
    "spoiled",
    [
        {"constant": math.nan},
        {"bias_noise": math.nan},
        {"later": ((math.nan, 0.1),)},
        {"later": ((0.1, math.nan),)},
    ],
    ids=str,
)
def test_nothing_is_claimed_of_a_nan(spoiled: dict[str, object]) -> None:
    row = replace(make_row(0, 3, 0.1, 0.0, 0.1, 0.1), constant=100.0)
    assert lower_tail(row, 100.0, 1.0) < 1e-6
    with np.errstate(invalid="ignore"):
        assert lower_tail(replace(row, **spoiled), 100.0, 1.0) == 1.0


@pytest.mark.parametrize("name", ["coefficient", "noise", "mean", "deviation"])
def test_nothing_is_claimed_of_a_nan_in_a_neuron(name: str) -> None:
    row = replace(make_row(0, 3, 0.1, 0.0, 0.1, 0.1), constant=100.0)
    spoiled = getattr(row, name).copy()
    spoiled[1] = math.nan
    with np.errstate(invalid="ignore"):
        assert lower_tail(replace(row, **{name: spoiled}), 100.0, 1.0) == 1.0


@pytest.mark.parametrize("g", [-0.5, 0.2, 0.6, 1.5])
@pytest.mark.parametrize("A", [-1.0, 0.8])
def test_a_little_noise_takes_the_place_of_a_bias_that_is_fixed(g: float, A: float) -> None:
    """Pr(g + A relu(0.4 + 0.7 Z) ≤ 0), from above by no more than what is added."""
    row = Row(g, array(A), array(0.0), 0.0, (), array(0.4), array(0.7))

    def true(constant: float) -> float:
        if (A > 0) == (constant > 0):
            return float(A < 0)
        beyond = (-constant / A - 0.4) / 0.7
        return math.erfc((beyond if A < 0 else -beyond) / math.sqrt(2)) / 2

    assert true(g) - 1e-12 <= lower_tail(row, g, 1.0) <= true(g - 11 / 64) + 1e-6


def test_the_reach_of_added_noise_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that is 0 half the time: added noise alone would hide half of that."""
    row = Row(0.0, array(0.8), array(0.0), 0.0, (), array(0.0), array(0.7))
    assert lower_tail(row, 0.3, 0.5) >= 0.5
    monkeypatch.setattr(inversion, "ADDED_REACH", 0.0)
    assert lower_tail(row, 0.3, 0.5) < 0.5


def test_the_tail_of_added_noise_is_above_that_of_its_reach() -> None:
    assert 0.5 * math.erfc(inversion.ADDED_REACH / math.sqrt(2)) < inversion.ADDED_TAIL < 3e-7
