"""Tails by inversion, against quadrature; and noise that must not be forgotten."""

import math
from dataclasses import replace

import pytest
from balls import between, density, integral, normal_tail, precision
from flint import acb, arb

from fedcert_check.projected import inversion
from fedcert_check.projected.inversion import Row, characteristic, lower_tail, rectified

ONE_NEURON = Row(arb(0.6), [arb(0.8)], [arb(0.2)], arb(0.3), (), [arb(0.4)], [arb(0.7)])
NOISE_ALONE = Row(arb(0.9), [], [], arb(0.3), (), [], [])
NAN = arb("nan")
TERMS = 200


def tail_of_one_neuron(row: Row) -> arb:
    """∫ φ(z) Q((g + A h)/√(r² h² + r_b²)) dz."""
    (A,), (r,), (mu,), (t,) = (map(acb, own) for own in (row.coefficient, row.noise, row.mean, row.scale))
    g, b = acb(row.constant), acb(row.bias_noise)

    def given(h: acb) -> acb:
        return normal_tail((g + A * h) / (r * r * h * h + b * b).sqrt())

    with precision(100):
        edge = float((-mu / t).real)
        active = integral(lambda z: density(z) * given(mu + t * z), max(edge, -40.0), 40)
        return active + given(acb(0)).real * (1 - normal_tail(acb(edge)).real)


@pytest.mark.parametrize("mu", [-2.0, -0.3, 0.0, 0.4, 3.0])
@pytest.mark.parametrize("A", [-1.0, 0.8])
@pytest.mark.parametrize("g", [-0.5, 0.6, 1.5])
def test_the_tail_of_one_neuron_is_that_of_its_integral(mu: float, A: float, g: float) -> None:
    row = replace(ONE_NEURON, constant=arb(g), coefficient=[arb(A)], mean=[arb(mu)])
    true = tail_of_one_neuron(row)
    found = lower_tail(row, arb(g + A * max(mu, 0.0)), arb(1), TERMS)
    assert found.upper() >= true.lower()
    assert found - true < 1e-9


@pytest.mark.parametrize("centre", [0.0, 5.0])
@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_any_centre_and_spread_give_an_upper_bound(centre: float, spread: float) -> None:
    found = lower_tail(ONE_NEURON, arb(centre), arb(spread), TERMS)
    assert found.upper() >= tail_of_one_neuron(ONE_NEURON).lower()


@pytest.mark.parametrize("lowest", [0.0, 0.4])
def test_tails_of_later_noise_are_those_of_their_integrals(lowest: float) -> None:
    g, b, low, high = acb(0.9), acb(0.3), acb(lowest), acb(0.5)
    with precision(100):
        below = integral(lambda z: density(z) * normal_tail((g - high * z) / b), 0, 40)
        true = below + integral(lambda z: density(z) * normal_tail((g + low * z) / b), 0, 40)
    row = replace(NOISE_ALONE, later=((arb(lowest), arb(0.5)),))
    found = lower_tail(row, arb(0.7), arb(0.6), TERMS)
    assert found.upper() >= true.lower()
    assert found - true < 1e-9


@pytest.mark.parametrize(
    "ball", [between(0, 0.5), arb(0.25, 0.26), arb(0, 0.5), NAN, arb(0, math.inf)], ids=str
)
def test_noise_whose_ball_reaches_zero_is_not_forgotten(ball: arb) -> None:
    """A comparison with a ball around 0, or with NaN, is false whichever way it is put."""
    row, known = (replace(NOISE_ALONE, later=((arb(0), own),)) for own in (ball, arb(0.5)))
    most = lower_tail(known, arb(0.7), arb(0.6), TERMS)
    found = lower_tail(row, arb(0.7), arb(0.6), TERMS)
    assert not found.upper() < most.lower()
    assert not inversion._beyond(row, arb(4), arb(0.6)) < inversion._beyond(known, arb(4), arb(0.6))


@pytest.mark.parametrize("nu", [-9.0, -7.6, 7.6, 9.0])
@pytest.mark.parametrize("tau", [0.1, 1.0, 10.0])
def test_a_neuron_that_hardly_changes_its_sign_is_within_the_charged_error(
    nu: float, tau: float, monkeypatch
) -> None:
    row = replace(ONE_NEURON, mean=[arb(nu * 0.7)])
    assert not row.changing
    short = characteristic(row, arb(tau))
    monkeypatch.setattr(inversion, "STABLE_DEVIATIONS", math.inf)
    again = replace(row)
    assert again.changing
    full = characteristic(again, arb(tau))
    assert short.overlaps(full)
    assert abs(short - full) < 1e-12


def test_the_shortcut_changes_a_tail_by_next_to_nothing(monkeypatch) -> None:
    several = Row(
        arb(0.2), [arb(0.8)] * 4, [arb(0.2)] * 4, arb(0.3), ((arb(0.1), arb(0.2)),),
        [arb(v) for v in (-8.0, 7.8, 0.3, -0.5)], [arb(1)] * 4,
    )  # fmt: skip
    short = lower_tail(several, arb(7), arb(1.5), TERMS)
    assert len(several.active) == 1
    monkeypatch.setattr(inversion, "STABLE_DEVIATIONS", math.inf)
    full = lower_tail(replace(several), arb(7), arb(1.5), TERMS)
    assert short.overlaps(full)
    assert abs(short - full) < 1e-11


@pytest.mark.parametrize(
    ("nu", "v", "x"), [(0.5, 1.0, 0.2), (-2.0, 3.0, 0.0), (3.0, -0.4, 2.0), (0.0, -5.0, 0.0)]
)
def test_a_rectified_factor_is_that_of_its_integral(nu: float, v: float, x: float) -> None:
    with precision(100):
        active = acb.integral(
            lambda z, _: density(z) * (acb(0, v) * (nu + z) - acb(x) * (nu + z) ** 2 / 2).exp(), -nu, 40
        )
        true = active + normal_tail(acb(nu))
    assert abs(rectified(arb(nu), arb(v), arb(x)) - true) < 1e-15


@pytest.mark.parametrize("name", ["constant", "bias_noise"])
def test_nan_claims_nothing(name: str) -> None:
    found = lower_tail(replace(ONE_NEURON, **{name: NAN}), arb(1), arb(1), TERMS)
    assert not found.is_finite() or found >= 1
    for part in ("coefficient", "noise", "mean", "scale"):
        found = lower_tail(replace(ONE_NEURON, **{part: [NAN]}), arb(1), arb(1), TERMS)
        assert not found.is_finite() or found >= 1


def test_without_noise_of_the_bias_nothing_is_claimed() -> None:
    for noise in (arb(0, 0.1), arb(-1)):
        assert lower_tail(replace(ONE_NEURON, bias_noise=noise), arb(1), arb(1), TERMS) == 1


@pytest.mark.parametrize("g", [-0.5, 0.2, 0.6, 1.5])
@pytest.mark.parametrize("A", [-1.0, 0.8])
def test_a_little_noise_takes_the_place_of_a_bias_that_is_fixed(g: float, A: float) -> None:
    """Pr(g + A relu(μ + t Z) ≤ 0), from above by no more than what is added."""
    row = replace(ONE_NEURON, constant=arb(g), coefficient=[arb(A)], noise=[arb(0)], bias_noise=arb(0))

    def true(constant: float) -> float:
        if (A > 0) == (constant > 0):
            return float(A < 0)
        beyond = (-constant / A - 0.4) / 0.7
        return math.erfc((beyond if A < 0 else -beyond) / math.sqrt(2)) / 2

    found = float(lower_tail(row, arb(g), arb(1), 1000).upper())
    assert true(g) - 1e-12 <= found <= true(g - 11 / 64) + 1e-6


def test_the_reach_of_added_noise_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that is 0 half the time: added noise alone would hide half of that."""
    row = replace(ONE_NEURON, constant=arb(0), noise=[arb(0)], mean=[arb(0)], bias_noise=arb(0))
    assert lower_tail(row, arb(0.3), arb(0.5), 1000).upper() >= 0.5
    unmoved = replace(row, bias_noise=arb(0.5) / 64)
    monkeypatch.setattr(inversion, "_noisy", lambda row, spread: (unmoved, arb(0)))
    assert lower_tail(row, arb(0.3), arb(0.5), 1000) < 0.5


@pytest.mark.parametrize("terms", [1, 4, 12])
def test_what_is_left_out_of_the_series_is_charged(terms: int) -> None:
    """With few terms the bound is loose, and still above the tail."""
    for g in (-0.5, 0.2, 0.6, 0.9, 1.5):
        row = replace(ONE_NEURON, constant=arb(g))
        assert lower_tail(row, arb(g), arb(1), terms).upper() >= tail_of_one_neuron(row).lower()
    short, full = (lower_tail(ONE_NEURON, arb(0.9), arb(1), count) for count in (terms, TERMS))
    assert short > full
