"""The checker's lattice: enumerated, below the deployed mass, and at least what the fast path claims."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from flint import arb, arb_poly, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from lattices import lattice_log_mass
from problems import normal, uniform
from scipy.stats import norm

from fedcert.errors import InvalidCertificate
from fedcert.laws import DiagonalGaussian
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert_check import lattice, rules
from fedcert_check.balls import PRECISION
from fedcert_check.laws import DiagonalGaussian as StatedLaw
from fedcert_check.masses import central_mass, gaussian


def make(
    seed: int, clients: int, dimension: int, jitter: float
) -> tuple[LinearRule, list[DiagonalGaussian], rules.LinearRule, list[StatedLaw]]:
    generator = stream(seed, "lattice")
    weights = normal(generator, clients, 1)
    weights = torch.where(weights.abs() < 0.3, 0.3, weights)
    laws, stated = [], []
    for _ in range(clients):
        scale = (0.5 + uniform(generator, 1)) * (1 + jitter * uniform(generator, dimension))
        laws.append(DiagonalGaussian(torch.zeros(dimension).double(), scale))
        stated.append(StatedLaw(laws[-1].loc.numpy(), scale.numpy()))
    return LinearRule(weights), laws, rules.LinearRule("linear", weights.numpy()), stated


def deployed_mass(radius: float, stated: list[StatedLaw]) -> arb:
    """The mass of μ ± r σ under the deployed law: that under any Gaussian without fixed parameters."""
    return central_mass(np.full(len(stated[0].loc), radius), [gaussian(stated[0])])


@pytest.mark.slow
@settings(max_examples=15)
@given(
    st.integers(0, 2**32), st.integers(2, 4), st.sampled_from([0.5, 2.03, 4.0]), st.sampled_from([0.0, 1e-9])
)
def test_between_the_claim_of_the_fast_path_and_the_deployed_mass(seed, clients, radius, jitter) -> None:
    """With jitter there are more different scales than are counted exactly, and shares are rounded."""
    dimension = 3 if jitter == 0 else 2 * lattice.MAX_EXACT_SHARES
    fast_rule, laws, rule, stated = make(seed, clients, dimension, jitter)
    claimed = lattice_log_mass(fast_rule, laws, torch.tensor([radius], dtype=torch.float64))
    with ctx.workprec(PRECISION):
        own = lattice.lattice_of(rule, stated)
        assert any(shares.distortion for shares in own.shares) == (jitter > 0)
        found, whole = own.mass(np.full(dimension, radius)), deployed_mass(radius, stated)
        assert found <= whole
        assert float(found.lower()) >= math.exp(claimed)
        assert radius < 2 or found >= 0.1 * whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts", [((1.0, 1.0),), ((0.6, 1.0), (0.4, 2.0)), ((1.0, 0.48), (1.0, 0.6), (2.0, 0.32))]
)
def test_counted_are_the_tuples_whose_image_lies_inside(monkeypatch, parts) -> None:
    monkeypatch.setattr(lattice, "CELLS_PER_CLIENT", 2)
    lattice.probability.cache_clear()
    contribution = [w * sigma for w, sigma in parts]
    unit = math.sqrt(sum(c * c for c in contribution))
    shares = [c / unit for c in contribution]
    radius, m = 2.0, 2 * len(parts)
    steps = [radius / (m * a) for a in shares]
    reach = [math.ceil(lattice.SPANNED_DEVIATIONS / t) for t in steps]
    total = 0.0
    for cells in product(*(range(-k, k) for k in reach)):
        low = sum(a * j * t for a, j, t in zip(shares, cells, steps, strict=True))
        high = sum(a * (j + 1) * t for a, j, t in zip(shares, cells, steps, strict=True))
        if -radius - 1e-9 <= low and high <= radius + 1e-9:
            total += math.prod(
                norm.cdf((j + 1) * t) - norm.cdf(j * t) for j, t in zip(cells, steps, strict=True)
            )
    with ctx.workprec(PRECISION):
        found = float(lattice.probability(int(radius * 64), lattice.Shares(parts, 0.0)))
    lattice.probability.cache_clear()
    assert found == pytest.approx(total, rel=1e-9)


def test_too_much_distortion_and_no_room_prove_nothing() -> None:
    with ctx.workprec(PRECISION):
        assert lattice.probability(0, lattice.Shares(((1.0, 1.0),), 0.0)) == 0
        assert lattice.probability(64, lattice.Shares(((1.0, 1.0), (1.0, 1.0)), 0.1)) == 0


def test_a_client_without_weight_has_no_lattice() -> None:
    _, _, rule, stated = make(0, 2, 3, 0.0)
    zero = rules.LinearRule("linear", np.array([[1.0], [0.0]]))
    with ctx.workprec(PRECISION), pytest.raises(InvalidCertificate, match="not zero"):
        lattice.lattice_of(zero, stated)
    assert rule.clients == 2


@pytest.mark.slow
def test_the_smallest_radius_is_still_counted() -> None:
    """Where polynomials are longest, the claim of the fast path is proven too."""
    fast_rule, laws, rule, stated = make(3, 2, 2, 0.0)
    radius = 1 / lattice.LEVELS_PER_DEVIATION
    claimed = lattice_log_mass(fast_rule, laws, torch.tensor([radius], dtype=torch.float64))
    with ctx.workprec(PRECISION):
        found = lattice.lattice_of(rule, stated).mass(np.full(2, radius))
        assert math.exp(claimed) <= float(found.lower())
        assert found <= deployed_mass(radius, stated)
    assert claimed > -10


@pytest.mark.parametrize(("least", "most"), [(0, 100), (3, 7), (-5, 2), (6, 4), (9, 40), (20, 30)])
def test_the_middle_of_a_product_is_known_without_the_product(least: int, most: int) -> None:
    one, other = arb_poly([1, 2, 3, 4, 5]), arb_poly([7, 0, 1, 9, 2, 6])
    whole = [float(c) for c in (one * other).coeffs()]
    expected = sum(c for k, c in enumerate(whole) if least <= k <= most)
    assert float(lattice._between(one, other, least, most)) == expected


def test_equal_shares_are_multiplied_once() -> None:
    parts = ((1.0, 2.0),) * 8
    laws = {(): arb_poly([1]), parts[:1]: arb_poly([0.5, 0.5])}
    law = lattice._law(parts, laws)
    assert {len(own) for own in laws} == {0, 1, 2, 4, 8}
    assert [float(c) * 256 for c in law.coeffs()] == [math.comb(8, k) for k in range(9)]
