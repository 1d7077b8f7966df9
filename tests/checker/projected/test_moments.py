"""Moments of rectified normals, against quadrature."""

import math
from itertools import product

import pytest
from balls import between, density, integral, normal_tail, precision
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st

from fedcert_check.projected import moments
from fedcert_check.projected.moments import exponent, log_moment, scaled_tail, second_moment

MEANS = (-3.0, -0.5, 0.0, 0.4, 2.0, 9.0)
NAN = arb("nan")


def expectation(function, mu: float, t: float) -> arb:
    """E f(relu(μ + t Z))."""
    with precision(120):
        edge = -mu / t
        active = integral(lambda z: function(acb(mu) + acb(t) * z) * density(z), max(edge, -40.0), 60)
        return active + function(acb(0)).real * (1 - normal_tail(acb(edge)).real)


@pytest.mark.parametrize(("mu", "t"), list(product(MEANS, (0.3, 1.0, 5.0))))
def test_second_moments_and_variances_are_those_of_their_integrals(mu: float, t: float) -> None:
    second = expectation(lambda h: h * h, mu, t)
    first = expectation(lambda h: h, mu, t)
    assert abs(second_moment(arb(mu), arb(t)) - second) < 1e-15 * (1 + second)
    found = moments.moments(arb(mu), arb(t))
    for mine, true in zip(found, (first, second, second - first * first), strict=True):
        assert abs(mine - true) < 1e-14 * (1 + second)


def test_a_second_moment_is_taken_at_the_upper_ends() -> None:
    assert second_moment(between(-1, 1), between(0.5, 2)) >= second_moment(arb(1), arb(2))
    assert not second_moment(NAN, arb(1)).is_finite()
    assert not second_moment(arb(1), NAN).is_finite()


@pytest.mark.parametrize("mu", MEANS)
@pytest.mark.parametrize(("c", "q"), [(0.0, 0.0), (1.5, 0.0), (-2.0, 0.5), (0.7, 0.9), (-30.0, 0.3)])
def test_log_moments_are_those_of_their_integrals(mu: float, c: float, q: float) -> None:
    true = expectation(lambda h: (acb(c) * h + acb(q) ** 2 * h * h / 2).exp(), mu, 1.0)
    found = log_moment(arb(c), arb(q), arb(mu), arb(1))
    assert found is not None
    assert abs(found - true.log()) < 1e-12


@pytest.mark.parametrize("q", [1.0, 1.5, 1e200])
def test_an_infinite_moment_is_none(q: float) -> None:
    assert log_moment(arb(0), arb(q), arb(0), arb(1)) is None
    assert log_moment(arb(0), NAN, arb(0), arb(1)) is None
    assert log_moment(arb(0), between(0.5, 1.5), arb(0), arb(1)) is None


@pytest.mark.parametrize("nu", [s * v for s in (-1, 1) for v in (0.1, 1.0, 20.0, 2000.0, 1e5)])
@pytest.mark.parametrize("v", [s * v for s in (-1, 1) for v in (0.1, 1.0, 20.0, 2000.0, 1e5)])
def test_powers_of_e_kept_apart_change_nothing(nu: float, v: float, monkeypatch) -> None:
    """The formula as it stands needs many more digits than the one that keeps powers of e apart."""
    monkeypatch.setattr(moments, "FAR_DEVIATIONS", 0)
    found = log_moment(arb(v), arb(0.5), arb(nu), arb(1))
    monkeypatch.setattr(moments, "FAR_DEVIATIONS", math.inf)
    with precision(400):
        direct = log_moment(arb(v), arb(0.5), arb(nu), arb(1))
    assert found.overlaps(direct)
    monkeypatch.undo()
    usual = log_moment(arb(v), arb(0.5), arb(nu), arb(1))
    assert abs(usual - direct) <= 1e-15 * (1 + abs(direct))


@pytest.mark.parametrize("nu", [1e60, -1e60])
@pytest.mark.parametrize("c", [1e-40, -1e-40])
def test_moments_of_what_is_hardly_random(nu: float, c: float) -> None:
    found = log_moment(arb(c), arb(0), arb(nu), arb(1))
    assert abs(found - arb(c) * max(nu, 0.0)) < 1e-10 * abs(c * nu) + 1e-12


@pytest.mark.parametrize("x", [0.0, 1.0, 30.0, 999.0, 1000.5, 1e4])
def test_scaled_tails(x: float) -> None:
    with precision(400):
        true = (arb(x) ** 2 / 2).exp() * (arb(x) / arb(2).sqrt()).erfc() / 2
    found = scaled_tail(arb(x))
    assert found.overlaps(true)
    assert found.rad() < 1e-12 * true


def test_exponents_add_up_and_need_a_positive_rate() -> None:
    parts = [0.5, -1.0], [0.1, 0.2], [0.3, -0.3], [1.0, 2.0]
    A, r, mu, t = ([arb(v) for v in own] for own in parts)
    found = exponent(arb(2), arb(3), A, r, arb(0.25), mu, t)
    terms = [log_moment(-2 * a, 2 * s, m, d) for a, s, m, d in zip(A, r, mu, t, strict=True)]
    assert found.overlaps(sum(terms, arb(-6) + arb(0.5)))
    for rate in (arb(0), arb(-1), NAN, between(-1, 1)):
        assert exponent(rate, arb(3), A, r, arb(0.25), mu, t) is None
    assert exponent(arb(2), arb(3), A, [arb(0.1), arb(9)], arb(0.25), mu, t) is None


def numbers(nu: float, v: float, w: float) -> tuple[arb, arb, arb, arb]:
    """c, q, μ and t with about these ν, v and w."""
    return arb(2 * v), arb(2 * math.sqrt(w)), arb(nu / 2), arb(0.5)


@pytest.mark.parametrize("bits", [64, 128])
@given(st.floats(-25, 25), st.floats(-40, 40), st.sampled_from([0.0, 1e-9, 0.3, 0.8, 0.99]))
def test_where_a_sign_lasts_one_term_is_enough(bits: int, nu: float, v: float, w: float) -> None:
    with precision(bits):
        found = log_moment(*numbers(nu, v, w))
    with precision(600), pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments, "_lasting", lambda _bits: (arb("inf"), NAN))
        exactly = log_moment(*numbers(nu, v, w))
    assert found.overlaps(exactly)
    assert found.rad() <= arb(2) ** (20 - bits) * (1 + abs(exactly))


@pytest.mark.parametrize(("nu", "v", "w"), [(3.0, 0.5, 0.0), (3.0, 0.1, 0.5), (-3.0, 1.0, 0.5)])
@pytest.mark.parametrize("charged", [False, True])
def test_what_a_lasting_sign_leaves_out_is_charged(nu: float, v: float, w: float, charged: bool) -> None:
    """Three deviations leave out what can be seen."""
    with pytest.MonkeyPatch.context() as patch:
        lost = (arb(-9) / 2).exp() if charged else arb(0)
        patch.setattr(moments, "_lasting", lambda _bits: (arb(3), arb(0, 1) * lost))
        found = log_moment(*numbers(nu, v, w))
        patch.setattr(moments, "_lasting", lambda _bits: (arb("inf"), NAN))
        assert found.overlaps(log_moment(*numbers(nu, v, w))) == charged
