"""Boxes around points of a law, some of whose parameters may be fixed."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform, vector

from fedcert.laws import DiagonalGaussian, around
from fedcert.numerics.box import Box
from fedcert.randomness import stream

SMALLEST_NORMAL = 2.0**-1022


def test_without_fixed_parameters_it_is_the_centre_and_so_many_deviations() -> None:
    law = DiagonalGaussian(vector(0.0, 1.0), vector(1.0, 2.0))
    centre = vector(0.5, 0.25)
    box, expected = around(law, centre, 3.0), Box.around(centre, 3.0 * law.scale)
    assert torch.equal(box.lower, expected.lower)
    assert torch.equal(box.upper, expected.upper)


@given(st.integers(0, 2**32), st.sampled_from([None, 0.0, 1e-300, 1e-16, 0.1]))
def test_a_box_counts_the_fixed_parameters_of_its_law(seed: int, error: float | None) -> None:
    generator = stream(seed, "around")
    loc = normal(generator, 3) * vector(1.0, 1e-200, 1e30)
    inexact = None if error is None else error * uniform(generator, 3)
    law = DiagonalGaussian(loc, torch.zeros_like(loc), inexact)
    assert law.log_mass(around(law, loc, 2.0)).item() == pytest.approx(0.0, abs=1e-300)


def test_around_zero_no_end_is_a_denormal_number() -> None:
    law = DiagonalGaussian(vector(0.0), vector(0.0))
    box = around(law, law.loc, 1.0)
    assert -math.inf < box.lower.item() <= -SMALLEST_NORMAL
    assert SMALLEST_NORMAL <= box.upper.item() < 1e-290
