"""Bounds in floating point are not below what balls of many bits prove, and hardly above."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.balls import Balls, exact
from fedcert_check.projected import floats
from fedcert_check.projected.floats import Enclosed, as_balls, product, sum_of_products, uppers
from fedcert_check.projected.layers import RandomLayer, random_layer
from fedcert_check.projected.movement import movement_of_inputs
from fedcert_check.projected.unproven import Unproven


def problem(seed: int, power: int = 0) -> tuple[Balls, RandomLayer, Balls, Balls]:
    """Rows, a layer, a radius and what the rows are shaken by; numbers of any size, some of them 0."""
    draw = np.random.default_rng(seed)
    rows, neurons, inputs = draw.integers(1, 6), draw.integers(1, 8), draw.integers(1, 40)
    sizes = 10.0 ** draw.integers(-3 + power, 2 + power, size=(neurons, inputs))
    mean = draw.normal(size=(neurons, inputs)) * sizes
    scale = np.abs(draw.normal(size=(neurons, inputs))) * sizes * draw.integers(0, 2, size=(neurons, inputs))
    third = arb(1) / 3  # no float: the balls have radii
    layer = random_layer(
        exact(mean) * third, exact(mean[:, 0]), (exact(scale) * third) ** 2, exact(scale[:, 0] ** 2)
    )
    B = exact(draw.normal(size=(rows, neurons))) * third
    shaking = exact(np.abs(draw.normal(size=(rows, neurons))))
    return B, layer, exact(np.abs(draw.normal(size=inputs)) * draw.integers(0, 2, size=inputs)), shaking


@pytest.mark.parametrize("shaken", [False, True])
@given(st.integers(0, 2**32), st.integers(-60, 60))
def test_movement_is_bounded_as_by_balls(shaken: bool, seed: int, power: int) -> None:
    with ctx.workprec(256):
        rows, layer, radius, shaking = problem(seed, power)
        sharp = movement_of_inputs(rows, layer, radius, arb(3), shaking if shaken else None)
    with ctx.workprec(64):
        found = movement_of_inputs(rows, layer, radius, arb(3), shaking if shaken else None)
        for own, exactly in zip(found, sharp, strict=True):
            assert own >= exactly.upper() or own == exactly == 0
            assert own <= exactly.upper() * (1 + arb(2) ** -18) + arb(2) ** -400  # a step of the table


@given(st.integers(0, 2**32), st.integers(-60, 60))
def test_the_spread_of_rows_is_bounded_as_by_balls(seed: int, power: int) -> None:
    with ctx.workprec(256):
        _, layer, radius, shaking = problem(seed, power)
        sharp = layer.spread(shaking, radius, arb(3))
    with ctx.workprec(64):
        found = layer.spread(shaking, radius, arb(3))
        for own, exactly in zip(found, sharp, strict=True):
            assert own.upper() >= exactly.lower()
            assert own <= exactly.upper() * (1 + arb(2) ** -40) + arb(2) ** -400


@given(st.integers(0, 2**32), st.integers(-300, 150))
def test_products_enclose_what_they_stand_for(seed: int, power: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = draw.normal(size=(3, 20)) * 10.0**power, draw.normal(size=(20, 2))
    found = product(Enclosed(a, np.abs(a) * 1e-9), Enclosed(b, np.abs(b) * 1e-7))
    above = sum_of_products(np.abs(a), np.abs(b))
    for i in range(3):
        for j in range(2):
            pairs = [(Fraction(x), Fraction(y)) for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True)]
            whole, size = sum(x * y for x, y in pairs), sum(abs(x * y) for x, y in pairs)
            largest = sum(x * (1 + Fraction(1e-9)) * y * (1 + Fraction(1e-7)) for x, y in pairs)
            for truth in (whole, largest):
                assert abs(truth - Fraction(float(found.centre[i, j]))) <= Fraction(float(found.error[i, j]))
            assert size <= Fraction(float(above[i, j]))


def test_without_its_charges_a_bound_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floats, "UNIT", 0.0)
    monkeypatch.setattr(floats, "LOST", 0.0)
    monkeypatch.setattr(floats, "up", lambda values: values)
    monkeypatch.setattr(floats, "down", lambda values: values)
    short = 0
    for seed in range(40):
        with ctx.workprec(256):
            rows, layer, radius, shaking = problem(seed)
            sharp = movement_of_inputs(rows, layer, radius, arb(3), shaking)
        with ctx.workprec(64):
            found = movement_of_inputs(rows, layer, radius, arb(3), shaking)
        short += any(bool(own < exactly.lower()) for own, exactly in zip(found, sharp, strict=True))
    assert short > 0


def test_what_is_not_finite_proves_nothing() -> None:
    with pytest.raises(Unproven, match="without a bound"):
        as_balls(uppers(np.array([arb(10) ** 400], dtype=object)))
    with pytest.raises(Unproven, match="without a bound"):
        as_balls(np.array([np.nan]))
    with pytest.raises(Unproven, match="too many"):
        floats._require_short(2**41)


def test_deviations_beyond_all_numbers_are_bounds_and_no_warnings() -> None:
    mean, deviation = Enclosed(np.array([1.0, 0.0]), np.zeros(2)), np.array([np.inf, 0.0])
    assert floats.squared(np.array([1e300, 2.0])).tolist() == [np.inf, np.nextafter(4, 5)]
    infinite, smallest = floats.folded_means(mean, deviation)
    assert infinite == np.inf
    assert 0 <= smallest < 1e-300
