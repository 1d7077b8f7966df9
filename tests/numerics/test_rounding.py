import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from balls import precision
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact, normal_cdf
from scipy import special

from fedcert.numerics.rounding import (
    LIBRARY_ULPS,
    UNIT_ROUNDOFF,
    down,
    exp_down,
    gamma,
    rounding_error,
    sum_down,
    sum_up,
    up,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
LISTS = st.lists(FLOATS, min_size=1, max_size=40)


@given(st.integers(1, 10**12))
def test_gamma_is_at_least_the_real_number(k: int) -> None:
    u = Fraction(1, 2**53)
    assert k * u / (1 - k * u) <= Fraction(gamma(k)) <= k * u / (1 - k * u) * (1 + 8 * u)


def test_gamma_refuses_what_it_cannot_bound() -> None:
    with pytest.raises(OverflowError):
        gamma(2**52)


@given(LISTS)
def test_sums_are_bounded_on_both_sides(terms: list[float]) -> None:
    total = sum(map(Fraction, terms))
    tensor = torch.tensor(terms, dtype=torch.float64)
    assert exact(sum_down(tensor)) <= total <= exact(sum_up(tensor))
    size = sum(map(abs, map(Fraction, terms)))
    assert exact(sum_up(tensor)) - exact(sum_down(tensor)) <= size * Fraction(1, 10**12) + Fraction(
        1, 10**300
    )


def test_the_sum_is_not_trusted_where_floating_point_is_wrong() -> None:
    terms = torch.tensor([1.0, 1e-17, 1e-17, -1.0], dtype=torch.float64)
    assert float(terms.sum()) <= 0 < sum(map(Fraction, terms.tolist()))
    assert exact(sum_down(terms)) <= sum(map(Fraction, terms.tolist())) <= exact(sum_up(terms))


def test_overflow_claims_nothing() -> None:
    terms = torch.full((3,), 1.7e308, dtype=torch.float64)
    assert not sum_down(terms).item() > 0


@given(FLOATS)
def test_down_and_up_are_the_neighbours(x: float) -> None:
    tensor = torch.tensor(x, dtype=torch.float64)
    assert down(tensor).item() == math.nextafter(x, -math.inf)
    assert up(tensor).item() == math.nextafter(x, math.inf)


@given(st.floats(-800, 0))
def test_exp_is_rounded_down(x: float) -> None:
    with precision(200):
        bound = exp_down(torch.tensor(x, dtype=torch.float64)).item()
        assert arb(bound) <= arb(x).exp()
        assert bound >= 0
        assert x < -600 or arb(bound) >= arb(x).exp() * (1 - 1e-13)


def test_exp_of_minus_infinity_is_zero() -> None:
    assert exp_down(torch.tensor(-math.inf, dtype=torch.float64)).item() == 0.0


LIBRARY = {
    "exp": (torch.exp, lambda x: x.exp(), (-700.0, 700.0)),
    "log": (torch.log, lambda x: x.log(), (1e-300, 1e300)),
    "log1p": (torch.log1p, lambda x: x.log1p(), (-1 + 1e-12, 10.0)),
    "erfc": (torch.erfc, lambda x: x.erfc(), (0.0, 26.0)),
    "tanh": (torch.tanh, lambda x: x.tanh(), (-30.0, 30.0)),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_the_library_keeps_the_error_bound_that_is_charged(name: str) -> None:
    """The one assumption about the platform, compared with ball arithmetic on many points."""
    fast, ball, (low, high) = LIBRARY[name]
    generator = torch.Generator().manual_seed(7)
    uniform = low + (high - low) * torch.rand(6000, generator=generator, dtype=torch.float64)
    tiny = torch.logspace(-300, 0, 6000, dtype=torch.float64) * (low if low < 0 else 1.0)
    x = torch.cat([uniform, tiny[(tiny > low) & (tiny < high)]])
    with precision(300):
        for point, value in zip(x.tolist(), fast(x).tolist(), strict=True):
            truth = ball(arb(point))
            assert abs(arb(value) - truth) <= abs(truth) * LIBRARY_ULPS * UNIT_ROUNDOFF


NORMAL = {
    "ndtr": (torch.special.ndtr, normal_cdf, lambda x, truth: 1),
    "scipy ndtr": (special.ndtr, normal_cdf, lambda x, truth: 1),
    "log_ndtr": (torch.special.log_ndtr, lambda x: normal_cdf(x).log(), lambda x, _: 1 + min(x, 0) ** 2),
    "scipy log_ndtr": (special.log_ndtr, lambda x: normal_cdf(x).log(), lambda x, _: 1 + min(x, 0) ** 2),
    "erfcx": (torch.special.erfcx, lambda x: (x * x).exp() * x.erfc(), lambda x, truth: truth * (1 + x * x)),
}


@pytest.mark.parametrize("name", NORMAL)
def test_the_normal_functions_of_the_libraries_keep_the_errors_that_are_charged(name: str) -> None:
    """Φ to an absolute 16 u; arguments rounded on the way count by their squares."""
    fast, ball, unit = NORMAL[name]
    low, high = (-5.0, 100.0) if name == "erfcx" else (-37.0, 37.0)
    generator = torch.Generator().manual_seed(7)
    uniform = low + (high - low) * torch.rand(4000, generator=generator, dtype=torch.float64)
    x = torch.cat([uniform, torch.logspace(-300, 0, 500).double(), -torch.logspace(-300, 0, 500).double()])
    with precision(400):
        found = fast(x.numpy() if name.startswith("scipy") else x).tolist()
        for point, value in zip(x.tolist(), found, strict=True):
            truth = ball(arb(point))
            assert abs(arb(value) - truth) <= LIBRARY_ULPS * UNIT_ROUNDOFF * unit(point, truth)


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_the_log_of_a_sum_keeps_the_error_that_is_charged(library: str) -> None:
    generator = torch.Generator().manual_seed(8)
    a = 10 ** torch.linspace(-9, 2.8, 4000, dtype=torch.float64)
    b = a + 30 * torch.randn(4000, generator=generator, dtype=torch.float64)
    found = torch.logaddexp(a, b) if library == "torch" else np.logaddexp(a.numpy(), b.numpy())
    with precision(400):
        for x, y, value in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
            truth = (arb(x).exp() + arb(y).exp()).log()
            assert abs(arb(value) - truth) <= LIBRARY_ULPS * UNIT_ROUNDOFF * (1 + abs(truth))


def test_rounding_error_bounds_a_dot_product_in_any_order() -> None:
    generator = torch.Generator().manual_seed(3)
    for _ in range(50):
        x, y = torch.randn(2, 300, generator=generator, dtype=torch.float64) * 1e3
        truth = sum(exact(a) * exact(b) for a, b in zip(x, y, strict=True))
        bound = exact(rounding_error(300, (x.abs() * y.abs()).sum()))
        order = torch.randperm(300, generator=generator)
        for value in (x @ y, x[order] @ y[order], (x * y).sum(), (x * y).cumsum(0)[-1]):
            assert abs(exact(value) - truth) <= bound
