"""Ball arithmetic: exact numbers and outward floats."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from fedcert.errors import InvalidCertificate
from fedcert_check import balls


@pytest.mark.slow
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e10, 1e10))
def test_floats_become_exact_and_come_back_outward(x: float, y: float) -> None:
    ball = balls.exact(np.array([x]))[0]
    assert (balls.float_down(ball), balls.float_up(ball)) == (x, x)
    with ctx.workprec(balls.PRECISION):
        third = balls.exact(np.array([y]))[0] / 3
        low, high = Fraction(balls.float_down(third)), Fraction(balls.float_up(third))
    assert low <= Fraction(y) / 3 <= high
    assert high - low <= 3 * Fraction(math.ulp(y))


@given(st.floats(1e-300, 1.0))
def test_a_number_survives_the_way_to_another_process(x: float) -> None:
    with ctx.workprec(balls.PRECISION):
        root = arb(x).sqrt()
        assert balls.unpack(balls.pack(root)) == root.lower()


def test_what_is_not_finite_or_has_no_sign_is_refused() -> None:
    for bad in (math.nan, math.inf):
        with pytest.raises(InvalidCertificate):
            balls.exact(np.array([bad]))
    wide = np.array([arb(0, 1)], dtype=object)
    for part in (balls.positive, balls.negative):
        with pytest.raises(ArithmeticError):
            part(wide)


def test_matrix_products_are_those_of_fractions() -> None:
    a, b = np.array([[0.1, -2.0], [3.0, 1e-20]]), np.array([0.3, 7.0])
    with ctx.workprec(balls.PRECISION):
        found = balls.matmul(balls.exact(a), balls.exact(b))
        for row, ball in zip(a, found, strict=True):
            truth = sum(Fraction(x) * Fraction(y) for x, y in zip(row, b, strict=True))
            assert ball.contains(arb(truth.numerator) / truth.denominator)
            assert ball.rad() < 1e-35


def test_means_are_rounded_outward() -> None:
    values = [0.1, 0.2, 0.4]
    truth = sum(Fraction(v) for v in values) / 3
    assert Fraction(balls.mean_down(values)) <= truth <= Fraction(balls.mean_up(values))
