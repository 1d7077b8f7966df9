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
from fedcert_check.masses import box_mass, central_mass, gaussian


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
        assert float(central_mass(radius).log()) == pytest.approx(expected.item(), rel=1e-12)
        assert central_mass(np.array([0.0, 8.0])) == 0
