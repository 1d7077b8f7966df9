"""The exponential above the normal's tail: against tails in ball arithmetic, and how near it is."""

import math

import pytest
import torch
from balls import precision
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from oracles import normal_cdf
from problems import vector

from fedcert.numerics.envelope import log_envelope

RATES = [0.0, 1e-300, 0.1, 0.797, 0.8, 1.0, 1.5, 3.0, 4.5, 8.0, 35.9, 36.1, 100.0]


@given(st.one_of(st.sampled_from(RATES), st.floats(0.0, 50.0)), st.floats(0.0, 60.0))
def test_the_exponential_is_above_the_tail_everywhere(c: float, v: float) -> None:
    bound = log_envelope(vector(c)).item()
    with precision(2000):
        assert normal_cdf(arb(-v)).log() + arb(c) * arb(v) <= arb(bound)
    assert bound >= 0.0  # V = 1 at v = 0


@pytest.mark.parametrize("c", RATES)
def test_it_touches_the_tail_and_is_never_above_the_moment(c: float) -> None:
    bound = log_envelope(vector(c)).item()
    assert bound <= c * c / 2 * (1 + 1e-12)
    grid = torch.linspace(0.0, 60.0, 60_001, dtype=torch.float64)
    highest = (torch.special.log_ndtr(-grid) + c * grid).max().clamp(min=0.0).item()
    if c <= 36:
        assert bound == pytest.approx(highest, abs=1e-5)


def test_it_grows_and_nothing_is_known_of_what_is_not_finite() -> None:
    bounds = log_envelope(torch.linspace(0.0, 40.0, 4001, dtype=torch.float64))
    assert (bounds.diff() >= -1e-9).all()
    assert log_envelope(vector(math.inf, math.nan, -1.0)).tolist() == [math.inf] * 3
