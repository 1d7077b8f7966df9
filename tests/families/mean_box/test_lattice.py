"""Lattice tuples: below the deployed law's mass, and converging to it."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lattices import lattice_log_mass
from problems import normal, uniform
from scipy.stats import norm

from fedcert.families.mean_box import lattice
from fedcert.laws import DiagonalGaussian
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule


def make(
    seed: int, clients: int, dimension: int, scale: float = 1e-3
) -> tuple[LinearRule, list[DiagonalGaussian]]:
    """Clients whose scales differ from each other, by the same factors in every parameter."""
    generator = stream(seed, "lattice")
    weights = normal(generator, clients, 1)
    weights = torch.where(weights.abs() < 0.2, 0.2, weights)
    scales = scale * (0.5 + uniform(generator, dimension))
    laws = [
        DiagonalGaussian(normal(generator, dimension), (0.5 + uniform(generator, 1)) * scales)
        for _ in range(clients)
    ]
    return LinearRule(weights), laws


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 5), st.sampled_from([0.3, 1.0, 2.5, 4.0, 9.0])
)
def test_the_tuples_weigh_less_than_the_box_but_not_much(seed, clients, dimension, radius) -> None:
    rule, laws = make(seed, clients, dimension)
    deployed = rule.pushforward(laws)
    box = Box.around(deployed.loc, radius * deployed.scale)
    found, whole = (
        lattice_log_mass(rule, laws, torch.tensor([radius]).double()),
        deployed.log_mass_upper(box).item(),
    )
    assert found <= whole
    assert radius < 2 or found >= whole - dimension * 0.2  # small boxes may be given up


def test_finer_lattices_climb_to_the_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    rule, laws = make(1, 4, 3)
    deployed = rule.pushforward(laws)
    box = Box.around(deployed.loc, 2.0 * deployed.scale)
    found = []
    for cells in (2, 8, 32, 128):
        monkeypatch.setattr(lattice, "CELLS", cells)
        lattice._log_probability.cache_clear()
        found.append(lattice_log_mass(rule, laws, torch.tensor([2.0]).double()))
    lattice._log_probability.cache_clear()
    assert found == sorted(found)
    assert found[-1] <= deployed.log_mass(box).item()
    assert found[-1] == pytest.approx(deployed.log_mass(box).item(), abs=0.02)


def test_it_beats_one_box_a_client_where_many_parameters_matter() -> None:
    """Five clients, 50,000 parameters, a box of 5.5 deployed deviations: one box a client has no mass."""
    law = DiagonalGaussian(torch.zeros(50_000, dtype=torch.float64), torch.full((50_000,), 1e-5).double())
    rule = LinearRule(torch.full((5, 1), 0.2, dtype=torch.float64))
    deployed = rule.pushforward([law] * 5)
    box = Box.around(deployed.loc, 5.5 * deployed.scale)
    one_box = 5 * law.log_mass(Box(box.lower, box.upper)).item()
    assert math.exp(one_box) < 1e-100
    assert math.exp(lattice_log_mass(rule, [law] * 5, torch.tensor([5.5]).double())) > 0.99


def test_samples_fall_into_the_tuples_as_often_as_claimed() -> None:
    """A simulation of the lattice itself: floors of standard normals, summed and compared."""
    radius, ratios = 2.0, (0.6, 0.8)
    m = lattice.CELLS * 2
    z = torch.randn(200_000, 2, generator=stream(0, "floors"), dtype=torch.float64)
    cells = torch.floor(z / torch.tensor([radius / (m * a) for a in ratios], dtype=torch.float64)).sum(-1)
    share = ((cells > -m) & (cells <= m - 1 - 2)).double().mean().item()
    assert math.exp(lattice._log_probability(radius, ratios)) == pytest.approx(share, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("ratios", [(1.0,), (0.6, 0.8), (0.48, 0.6, 0.64)])
def test_counted_are_the_tuples_whose_image_lies_inside_with_a_cell_to_spare(monkeypatch, ratios) -> None:
    """Enumeration of every tuple: [Σ a_i j_i t_i, Σ a_i (j_i + 1) t_i] against ±(radius − one cell)."""
    monkeypatch.setattr(lattice, "CELLS", 2)
    lattice._log_probability.cache_clear()
    radius, m = 2.0, 2 * len(ratios)
    steps = [radius / (m * a) for a in ratios]
    reach = [math.ceil(lattice.WIDEST / t) for t in steps]
    total, room = 0.0, radius - radius / m + 1e-9
    for cells in product(*(range(-k, k) for k in reach)):
        low = sum(a * j * t for a, j, t in zip(ratios, cells, steps, strict=True))
        high = sum(a * (j + 1) * t for a, j, t in zip(ratios, cells, steps, strict=True))
        if -room <= low and high <= room:
            total += math.prod(
                norm.cdf((j + 1) * t) - norm.cdf(j * t) for j, t in zip(cells, steps, strict=True)
            )
    found = math.exp(lattice._log_probability(radius, ratios))
    lattice._log_probability.cache_clear()
    assert found == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("case", ["too many clients", "too many scales", "no room"])
def test_where_it_cannot_count_it_claims_nothing(case: str) -> None:
    clients = 40 if case == "too many clients" else 2
    rule, laws = make(0, clients, 30)
    if case == "too many scales":
        laws[0] = DiagonalGaussian(laws[0].loc, 0.1 + uniform(stream(9, "scales"), 30))
    radius = 1e-9 if case == "no room" else 3.0
    assert lattice_log_mass(rule, laws, torch.tensor([radius]).double()) == -math.inf
