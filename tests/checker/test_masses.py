"""Masses of boxes in ball arithmetic."""

import math

import numpy as np
import pytest
import torch
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st
from oracles import log_mass
from problems import normal, uniform

from fedcert.laws import DiagonalGaussian
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert_check import balls
from fedcert_check.laws import DiagonalGaussian as StatedLaw
from fedcert_check.masses import Gaussian, box_mass, central_mass, gaussian


@given(st.integers(0, 2**32), st.sampled_from([0.1, 3.0, 30.0]))
def test_masses_agree_with_many_more_digits(seed: int, reach: float) -> None:
    """Also far out in the tail, where a difference of distribution functions would cancel."""
    generator = stream(seed, "masses")
    law = DiagonalGaussian(normal(generator, 3), 0.1 + uniform(generator, 3))
    lower = law.loc + reach * law.scale * normal(generator, 3)
    box = Box(lower, lower + law.scale * (0.01 + uniform(generator, 3)))
    with ctx.workprec(balls.PRECISION):
        own = gaussian(StatedLaw(law.loc.numpy(), law.scale.numpy()))
        found = box_mass(own, box.lower.numpy(), box.upper.numpy()).log()
        assert found.overlaps(log_mass(law, box))
        assert found.rad() < 1e-20


def test_central_masses_are_powers_of_the_error_function() -> None:
    radius = np.repeat([1.0, 2.5], [3, 50_000])
    with ctx.workprec(balls.PRECISION):
        expected = torch.erf(torch.tensor([1.0, 2.5]).double() / math.sqrt(2)).log() @ torch.tensor(
            [3.0, 50_000.0], dtype=torch.float64
        )
        law = Gaussian(balls.zeros(len(radius)), balls.exact(np.ones(len(radius))))
        assert float(central_mass(radius, [law]).log()) == pytest.approx(expected.item(), rel=1e-12)
        assert float(central_mass(radius, [law, law]).log()) == pytest.approx(2 * expected.item(), rel=1e-12)


def test_a_fixed_parameter_is_always_in_a_box_around_the_mean() -> None:
    radius, loc = np.array([0.0, 1.0]), balls.zeros(2)
    random, fixed = (Gaussian(loc, balls.exact(np.array([scale, 1.0]))) for scale in (1.0, 0.0))
    with ctx.workprec(balls.PRECISION):
        assert central_mass(radius, [random]) == 0
        one = central_mass(radius, [fixed])
        assert float(one) == pytest.approx(math.erf(math.sqrt(0.5)))
        assert central_mass(radius, [fixed, fixed]).overlaps(one * one)


def test_a_fixed_parameter_counts_only_strictly_inside_a_box() -> None:
    law = Gaussian(balls.exact(np.array([0.5])), balls.zeros(1))
    below, above = np.nextafter(0.5, 0.0), np.nextafter(0.5, 1.0)
    with ctx.workprec(balls.PRECISION):
        assert box_mass(law, np.array([below]), np.array([above])) == 1
        for low, high in ((0.5, above), (below, 0.5), (0.5, 0.5), (0.0, below), (above, 1.0)):
            assert box_mass(law, np.array([low]), np.array([high])) == 0
