"""Lines and linear forms in balls: by brute force over the numbers of a ball, and as the fast path's."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from agreement import Both, both, lower_bound, upper_bound
from balls import array, between, density, inside, integral
from flint import acb, arb
from torch import Tensor

from fedcert.families.projected import centre as fast
from fedcert.families.projected import later
from fedcert.families.projected.excess import Excess as FastExcess
from fedcert_check.balls import exact
from fedcert_check.projected.exact import first_law, width
from fedcert_check.projected.excess import Excess
from fedcert_check.projected.forms import (
    Hidden,
    Known,
    _moved_means,
    conditional_deviation,
    linear_form,
)
from fedcert_check.projected.later import lowest_deviations
from fedcert_check.projected.layers import Unproven
from fedcert_check.projected.lines import Lines, through_relu
from fedcert_check.projected.movement import Moved

NAN = arb("nan")


def signs(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int8)


def relu(v: Fraction) -> Fraction:
    return max(v, Fraction(0))


def fraction(ball: arb) -> Fraction:
    """An exact ball as a number."""
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("slope", [0.0, 0.25, 0.6, 1.0])
@pytest.mark.parametrize("below", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (-3.0, -1.0), (1.0, 2.0), (0.0, 0.0), (-1e-9, 1e9)])
def test_lines_of_any_slope_enclose_the_relu(low: float, high: float, below: float, slope: float) -> None:
    given = (np.array([below]), np.array([slope]), signs(0))
    lines = Lines.over(*given, array(low), array(high))
    (height,) = map(fraction, lines.height)
    for a in map(Fraction, np.linspace(low, high, 9).tolist()):
        assert Fraction(below) * a <= relu(a) <= Fraction(slope) * a + height


@pytest.mark.parametrize(("sign", "line"), [(1, 1), (-1, 0)])
def test_a_neuron_of_known_sign_is_its_own_line_whatever_the_slopes(sign: int, line: int) -> None:
    lines = Lines.over(np.array([0.5]), np.array([0.5]), signs(sign), array(NAN), array(NAN))
    assert (lines.below[0], lines.slope[0], lines.height[0]) == (line, line, 0)


@pytest.mark.parametrize(
    ("low", "high"), [(NAN, arb(1)), (arb(-1), NAN), (arb("-inf"), arb(1)), (-1, arb("inf"))]
)
def test_no_line_is_drawn_over_a_range_without_an_end(low: arb, high: arb) -> None:
    with pytest.raises(Unproven):
        Lines.over(np.array([0.5]), np.array([0.5]), signs(0), array(low), array(high))


@pytest.mark.parametrize(
    "ends", [(-0.5, 0.25), (-1.0, -0.5), (0.5, 1.0), (0.0, 0.5), (-0.5, 0.0), (0.0, 0.0)]
)
def test_every_coefficient_of_a_ball_passes_through_the_relus(ends: tuple[float, float]) -> None:
    lines = Lines.over(np.array([0.3]), np.array([0.6]), signs(0), array(-1), array(2))
    A = between(*ends)
    rows, constant = through_relu(np.array([[A]], dtype=object), lines)
    for value in inside(A):
        true_row = max(value, 0.0) * lines.below[0] + min(value, 0.0) * lines.slope[0]
        assert rows[0, 0].overlaps(true_row)
        assert constant[0].overlaps(min(value, 0.0) * lines.height[0])
        for a in (-1.0, -0.5, 0.0, 0.7, 2.0):
            assert value * max(a, 0.0) >= float((true_row * a + constant[0]).lower()) - 1e-15


def test_a_coefficient_of_nan_stays_one() -> None:
    lines = Lines.over(np.array([0.3, 0.0]), np.array([0.6, 0.0]), signs(0, -1), array(-1, -1), array(2, 2))
    for k in range(2):
        coefficient = exact(np.ones((1, 2)))
        coefficient[0, k] = NAN
        rows, constant = through_relu(coefficient, lines)
        assert not rows[0, k].is_finite()
        assert not constant[0].is_finite()


@pytest.mark.parametrize("mean", [-1.0, -0.1, 0.0, 0.2, 1.0])
@pytest.mark.parametrize(
    "ends", [(-0.5, 0.25), (-1.0, -0.5), (0.5, 1.0), (0.0, 0.0), (-0.5, 0.0), (0.0, 0.5)]
)
def test_moved_means_are_sound_for_every_coefficient_of_a_ball(
    mean: float, ends: tuple[float, float]
) -> None:
    """A relu(a + Δ) ≥ θ A Δ + A relu(a + (μ' − μ)) − |A| loss, |Δ| ≤ D, also where the sign of A is open."""
    D, A = 0.25, between(*ends)
    known = Known(array(mean), array(1), array(0.1), (Moved(array(D), signs(0)),), (), arb(1), arb(1))
    moved, loss, theta = _moved_means(np.array([[A]], dtype=object), known)
    shift, lost, slope = float(moved[0, 0] - mean), float(loss[0, 0]), float(theta[0, 0])
    assert abs(shift) <= D * (1 + 1e-12)
    grid = np.linspace(-2, 2, 17)
    for value, a, delta in itertools.product(inside(A), grid, np.linspace(-D, D, 5)):
        true = value * max(a + delta, 0.0)
        assert true >= slope * value * delta + value * max(a + shift, 0.0) - abs(value) * lost - 1e-12


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_neuron_that_keeps_its_sign_needs_no_other_mean(sign: int) -> None:
    known = Known(array(-sign), array(1), array(0.1), (Moved(array(0.25), signs(sign)),), (), arb(1), arb(1))
    moved, loss, theta = _moved_means(exact(np.array([[3.0]])), known)
    assert (moved[0, 0], loss[0, 0], theta[0, 0]) == (-sign, 0, (1 + sign) // 2)


def test_conditional_deviations_are_their_formula() -> None:
    noise, mean, deviation = np.array([[0.5, 2.0]]), (0.3, -0.2), (1.0, 0.25)
    square = arb(0.1) ** 2
    for r, mu, t in zip(noise[0], mean, deviation, strict=True):
        second = integral(lambda z, mu=mu, t=t: acb(mu + t * z) ** 2 * density(z), -mu / t, 30)
        square += arb(r) ** 2 * second
    found = conditional_deviation(exact(noise), array(0.1), array(*mean), array(*deviation), arb(3))
    assert abs(found[0] - square.sqrt() - 3 * 0.5) < 1e-12


def test_conditional_deviations_use_the_upper_ends_of_balls_and_keep_nan() -> None:
    args = exact(np.array([[0.5]])), array(0.1)
    wide = conditional_deviation(*args, array(between(-1, 1)), array(between(0.5, 2)), arb(3))[0]
    most = conditional_deviation(*args, array(1), array(2), arb(3))[0]
    assert wide.upper() >= most.lower()
    assert not conditional_deviation(*args, array(NAN), array(1), arb(3))[0].is_finite()
    with pytest.raises(Unproven):
        conditional_deviation(*args, array(0), array(NAN), arb(3))


def known_alike(pair: Both) -> tuple[Known, fast.Known]:
    """What the fast path knows, in balls."""
    theirs = pair.known
    assert theirs is not None
    mean, deviation = first_law(pair.layers[0], pair.region.centre)
    moved = tuple(
        Moved(exact(own.radius[0].numpy()), (2 * own.slope[0].numpy() - 1).astype(np.int8))
        for own in theirs.spreads
    )
    hidden = tuple(
        Hidden(
            Lines(*(exact(part[0].numpy()) for part in (own.lines.below, own.lines.slope, own.lines.height))),
            exact(own.mean[0].numpy()),
            exact(own.deviation[0].numpy()),
            Excess(
                own.lines.widest[0].numpy() > 0,
                own.excess.centre[0].numpy(),
                own.excess.rate[0].numpy(),
                list(exact(exponents(own.excess).numpy())),
            ),
        )
        for own in theirs.hidden
    )
    u, wide = (arb(v.item()) for v in (theirs.moving, theirs.deviating))
    return Known(mean, deviation, pair.region.radius, moved, hidden, u, wide), theirs


def exponents(excess: FastExcess) -> Tensor:
    """K(λ) + λ l of each side; a large number where nothing is known, as of neurons whose sign is."""
    return (excess.exponent[0] + excess.rate[0].log()).nan_to_num(posinf=1e3)


@pytest.mark.parametrize(("depth", "reach"), [(2, 0.0), (3, 0.0), (3, 2.0), (4, 0.0), (4, 1.0)])
@pytest.mark.parametrize("seed", range(4))
def test_linear_forms_are_those_of_the_fast_path(seed: int, depth: int, reach: float) -> None:
    pair = replace(both(seed, depth, scale=0.1 if seed == 3 else 0.02), reach=1.0)
    mine, theirs = known_alike(pair)
    reaches = np.array([reach, 0.0])
    form = linear_form(pair.region.C, pair.layers, mine, reaches)
    other = fast.linear_form(
        pair.properties.C, pair.fast_layers, theirs, torch.from_numpy(reaches).unsqueeze(0)
    )
    upper_bound(form.excess, other.excess[0])
    assert form.excess[1] == 0
    magnitude = float(sum(abs(v) for v in (form.coefficient * form.mean).ravel())) + 1
    lower_bound(form.constant, other.constant[0], magnitude)
    for row, number in zip(form.coefficient, other.coefficient[0], strict=True):
        assert all(abs(ball - v) <= 1e-8 * magnitude for ball, v in zip(row, number.tolist(), strict=True))
    for row, number in zip(form.noise, other.noise[0], strict=True):
        upper_bound(row, number)
    upper_bound(form.bias_noise, other.bias_noise[0])
    assert len(form.later) == depth - 2
    for ball, number in zip(form.later, other.later, strict=True):
        upper_bound(ball, number[0])
    upper_bound(form.scale, other.scale[0])
    silent = form.without_own_noise()
    assert len(silent.later) == max(0, depth - 3)
    assert depth > 2 or all(v == 0 for v in (*silent.noise.ravel(), *silent.bias_noise))


def test_widths_are_those_of_their_failure_probabilities() -> None:
    for failure in (1e-300, 1e-7, 0.5, 1 - 2.0**-53):
        u = width(failure)
        assert (-u * u / 2).exp().overlaps(arb(failure))
    assert torch.isfinite(torch.tensor(float(width(5e-324))))


@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_lowest_deviations_are_those_of_the_fast_path(seed: int, depth: int) -> None:
    pair = replace(both(seed, depth, scale=0.02), reach=1.0)
    mine, theirs = known_alike(pair)
    reach = np.array([1.0, 0.0])
    form = fast.linear_form(pair.properties.C, pair.fast_layers, theirs, torch.from_numpy(reach).unsqueeze(0))
    failure = torch.full((1,), 1e-3, dtype=torch.float64)
    found, rates = later.lowest_deviations(form, pair.fast_layers, theirs, failure)
    again = lowest_deviations(pair.region.C, pair.layers, mine, rates[0].numpy(), arb(1e-3), reach)
    assert any(bool((low > 0).any()) for low in found)
    for ball, low in zip(again, found, strict=True):
        lower_bound(ball, low[0], 1)
    none = lowest_deviations(pair.region.C, pair.layers, mine, 0 * rates[0].numpy(), arb(1e-3))
    assert all(low == 0 for own in none for low in own)
