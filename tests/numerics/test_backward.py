"""Linear lower bounds, compared with rational arithmetic at the corners of what they speak about."""

import math
from fractions import Fraction
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact

from fedcert.numerics.backward import LinearBound, LooseBound, least_over_box
from fedcert.numerics.interval import Bounds

FLOATS = st.one_of(
    st.floats(-10, 10), st.floats(-1e150, 1e150), st.sampled_from([0.0, 1e-300, -1e-300, 1e-200, 5e-324])
)
PAIRS = st.tuples(FLOATS, FLOATS).map(sorted)


def loose(coefficients: list[list[float]], constant: float = 0.0) -> LooseBound:
    low, high = torch.tensor(coefficients, dtype=torch.float64).T[:, None, None, None]
    value = torch.full((1, 1, 1), constant, dtype=torch.float64)
    return LooseBound(Bounds(low, high), value, value.abs(), 13)


def bounds(ends: list[list[float]]) -> Bounds:
    return Bounds(*torch.tensor(ends, dtype=torch.float64).T[:, None])


@pytest.mark.slow
@given(entries=st.lists(st.tuples(PAIRS, PAIRS), min_size=1, max_size=3), constant=FLOATS)
def test_one_coefficient_stands_for_all_of_them(entries: list, constant: float) -> None:
    coefficients, activations = (list(part) for part in zip(*entries, strict=True))
    bound = loose(coefficients, constant)
    settled = bound.settled(bounds(activations))
    chosen, value = settled.coefficients[0, 0, 0], exact(settled.constant)
    for (low, high), a in zip(coefficients, chosen.tolist(), strict=True):
        assert low <= a <= high
    for a, h in product(product(*coefficients), product(*activations)):
        exactly = sum((exact(x) * exact(y) for x, y in zip(a, h, strict=True)), exact(constant))
        assert sum((exact(x) * exact(y) for x, y in zip(chosen, h, strict=True)), value) <= exactly
    assert exact(settled.magnitude) >= abs(exact(constant)) + abs(value - exact(constant)) * Fraction(1, 2)
    assert settled.roundings == bound.roundings


@pytest.mark.parametrize(
    ("activations", "chosen"), [([0.0, 2.0], 1.0), ([-2.0, 0.0], 3.0), ([0.0, 0.0], 1.0), ([1.0, 2.0], 1.0)]
)
def test_nothing_is_lost_where_activations_have_one_sign(activations: list[float], chosen: float) -> None:
    bound = loose([[1.0, 3.0]], 0.1)
    settled = bound.settled(bounds([activations]))
    assert settled.coefficients.item() == chosen
    assert torch.equal(settled.constant, bound.constant)
    assert torch.equal(settled.magnitude, bound.magnitude)


def test_the_coefficient_balances_both_signs() -> None:
    """a = 1 + 2·1/4 loses 1.5 either way, for activations in [−1, 3]."""
    settled = loose([[1.0, 3.0]]).settled(bounds([[-1.0, 3.0]]))
    assert settled.coefficients.item() == 1.5
    assert -1.5 - 1e-14 <= settled.constant.item() <= -1.5


def test_what_is_lost_by_underflow_is_not_nothing() -> None:
    """The product of 1e-200 and 1e-200 is no float, and not 0."""
    settled = loose([[0.0, 1e-200]]).settled(bounds([[-1e-200, 1e-200]]))
    assert settled.constant.item() < 0


@pytest.mark.parametrize(
    "ends", [[torch.nan, 1.0], [torch.nan, torch.nan], [-torch.inf, 1.0], [-1.0, torch.inf]]
)
def test_unknown_activations_prove_nothing(ends: list[float]) -> None:
    settled = loose([[1.0, 3.0]]).settled(bounds([ends]))
    assert not settled.constant.isfinite().all()


@pytest.mark.parametrize("x", [(-1.0, 2.0), (0.0, 2.0), (-2.0, -1.0), (0.5, 0.5)])
def test_the_least_value_over_a_region(x: tuple[float, float]) -> None:
    """min of a x + c over a in [−1, 3] and x."""
    least = min(a * end for a, end in product((-1.0, 3.0), x)) + 0.25
    found = loose([[-1.0, 3.0]], 0.25).least(bounds([list(x)])).item()
    assert least - 1e-13 <= found <= least


def test_a_settled_bound_is_its_own() -> None:
    rows = torch.ones(1, 1, 2, 3, dtype=torch.float64)
    bound, x = LinearBound.of(rows), bounds([[-1.0, 2.0]] * 3)
    assert bound.settled(x) is bound
    assert (bound.least(x) <= -3).all()
    assert (bound.least(x) >= -3 - 1e-12).all()
    assert (bound.constant == 0).all()


SIZES = st.floats(1, 2).flatmap(lambda x: st.integers(-1074, 1020).map(lambda e: x * 2.0**e))
SIGNED = st.tuples(SIZES, st.sampled_from([-1.0, 1.0])).map(lambda own: own[0] * own[1])


@given(
    rows=st.lists(SIGNED, min_size=2, max_size=2),
    weights=st.lists(st.tuples(SIGNED, SIGNED).map(sorted), min_size=4, max_size=4),
    inputs=st.lists(st.tuples(SIZES, SIZES).map(sorted), min_size=2, max_size=2),
)
def test_weights_and_inputs_at_once_in_rational_arithmetic(rows: list, weights: list, inputs: list) -> None:
    weight = Bounds(*torch.tensor(weights, dtype=torch.float64).T.reshape(2, 1, 2, 2))
    bound = LinearBound.of(torch.tensor(rows, dtype=torch.float64).reshape(1, 1, 1, 2))
    found = least_over_box(bound, weight, bounds(inputs)).item()
    entries = [[weights[2 * j + k] for k in range(2)] for j in range(2)]
    least = [
        sum(min(Fraction(a) * Fraction(w) for w in entries[j][k]) for j, a in enumerate(rows))
        for k in range(2)
    ]
    exactly = sum(min(a * Fraction(x) for x in inputs[k]) for k, a in enumerate(least))
    assert not found > -math.inf or Fraction(found) <= exactly


@pytest.mark.parametrize(
    ("rows", "weight", "x"),
    [((-2.46e-160, 0.0), 1.8075e-160, 1.7e300), ((-1e300, 1e300 / 3), 1.1e-170, 1.3e-160)],
    ids=["weights times rows", "weights times inputs"],
)
def test_what_underflows_before_it_is_multiplied_is_charged(rows: tuple, weight: float, x: float) -> None:
    bound = LinearBound.of(torch.tensor(rows, dtype=torch.float64).reshape(1, 1, 1, 2))
    for step in range(40):
        weights = weight * (1 + step / 40), 3 * weight * (1 + step / 40)
        ends = torch.tensor(weights, dtype=torch.float64).reshape(1, 2, 1)
        found = least_over_box(bound, Bounds(ends, ends), bounds([[x, x]])).item()
        exactly = sum(Fraction(a) * Fraction(w) for a, w in zip(rows, weights, strict=True)) * Fraction(x)
        assert Fraction(found) <= exactly


@pytest.mark.parametrize(("boxes", "properties"), [(0, 2), (2, 0)])
def test_nothing_is_bounded_where_there_is_nothing(boxes: int, properties: int) -> None:
    weight = torch.ones(boxes, 2, 3, dtype=torch.float64)
    x = torch.ones(properties, 3, dtype=torch.float64)
    bound = LinearBound.of(torch.ones(boxes, properties, 1, 2, dtype=torch.float64))
    assert least_over_box(bound, Bounds(weight, weight), Bounds(x, x)).shape == (boxes, properties, 1)
