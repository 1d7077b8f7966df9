import math
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, uniform, vector

from fedcert.errors import InvalidConfig
from fedcert.families.mean_box.events import MeanBox, half_down, log_price
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.numerics.box import overlap
from fedcert.randomness import stream


@given(st.floats(0.01, 7.99))
def test_radii_invert_the_price(radius: float) -> None:
    found = MeanBox().radii(log_price(vector(radius)))
    assert found.item() == pytest.approx(radius, rel=1e-3, abs=1e-3)
    assert torch.equal(found, found.half().double())


@given(st.floats(1e-6, 1e6))
def test_half_precision_rounds_down_and_no_further_than_it_must(radius: float) -> None:
    found = half_down(vector(radius))
    assert torch.equal(found, found.half().double())
    assert found.item() <= radius
    following = (found.half().view(torch.int16) + 1).view(torch.float16).double()
    assert following.item() > radius


def test_the_price_is_the_slope_of_the_log_mass() -> None:
    r, step = torch.linspace(0.1, 6, 50, dtype=torch.float64), 1e-6
    slope = (torch.erf((r + step) / math.sqrt(2)).log() - torch.erf((r - step) / math.sqrt(2)).log()) / (
        2 * step
    )
    torch.testing.assert_close(log_price(r).exp(), slope, rtol=1e-4, atol=1e-9)


def test_a_higher_price_gives_a_smaller_box_within_the_widest() -> None:
    low, high = MeanBox().log_prices
    radii = MeanBox().radii(torch.linspace(low - 5, high + 5, 500, dtype=torch.float64))
    assert (radii.diff() <= 0).all()
    assert radii[0] == 8.0
    assert 0 < radii[-1] < 0.01


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 6), st.sampled_from([0.5, 3.0, 8.0]))
def test_cells_of_components_are_disjoint_and_carry_their_mass(seed, dimension, components, radius) -> None:
    generator = stream(seed, "cells")
    law = GaussianMixture(
        tuple(
            DiagonalGaussian(4 * normal(generator, dimension), 0.1 + uniform(generator, dimension))
            for _ in range(components)
        ),
        0.1 + uniform(generator, components),
    )
    cells = MeanBox().cells(law, radius)
    boxes = [cells.boxes[k] for k in range(len(cells))]
    assert len(cells) == components
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
    assert torch.equal(cells.log_mass, law.log_mass(cells.boxes))
    assert cells.log_mass.exp().sum() <= 1


def test_far_components_are_covered_almost_wholly() -> None:
    parts = tuple(DiagonalGaussian(vector(10.0 * k, 0.0), vector(1.0, 1.0)) for k in range(3))
    cells = MeanBox().cells(GaussianMixture(parts, vector(1.0, 2.0, 1.0)), 4.9)
    assert cells.log_mass.exp().tolist() == pytest.approx([0.25, 0.5, 0.25], abs=1e-5)


def test_a_component_that_comes_twice_has_one_cell() -> None:
    part = DiagonalGaussian(vector(0.0), vector(1.0))
    cells = MeanBox().cells(GaussianMixture((part, part), vector(1.0, 1.0)), 8.0)
    assert len(cells) == 1
    assert cells.log_mass.exp().item() == pytest.approx(1.0)


@pytest.mark.parametrize("bad", [{"widest": 0.0}, {"widest": math.inf}, {"widest": math.nan}, {"steps": 0}])
def test_impossible_settings_raise(bad: dict) -> None:
    with pytest.raises(InvalidConfig):
        MeanBox(**bad)
