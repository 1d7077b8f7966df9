"""The checker's lattice: enumerated, below the deployed mass, and at least what the fast path claims."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal, uniform
from scipy.stats import norm

from fedcert.certify.lattice import lattice_log_mass
from fedcert.check import lattice
from fedcert.check.balls import PRECISION
from fedcert.check.document import Client, Rule
from fedcert.check.masses import central_mass
from fedcert.errors import InvalidCertificate
from fedcert.laws import DiagonalGaussian
from fedcert.randomness import stream
from fedcert.rules import LinearRule


def make(
    seed: int, clients: int, dimension: int, jitter: float
) -> tuple[LinearRule, list[DiagonalGaussian], Rule, list[Client]]:
    generator = stream(seed, "lattice")
    weights = normal(generator, clients, 1)
    weights = torch.where(weights.abs() < 0.3, 0.3, weights)
    none = np.zeros((0, dimension))
    laws, parties = [], []
    for _ in range(clients):
        scale = (0.5 + uniform(generator, 1)) * (1 + jitter * uniform(generator, dimension))
        laws.append(DiagonalGaussian(torch.zeros(dimension).double(), scale))
        parties.append(Client("", "", laws[-1].loc.numpy(), scale.numpy(), none, none))
    return LinearRule(weights), laws, Rule("linear", clients, weights.numpy(), None, 0), parties


@settings(max_examples=15)
@given(
    st.integers(0, 2**32), st.integers(2, 4), st.sampled_from([0.5, 2.03, 4.0]), st.sampled_from([0.0, 1e-9])
)
def test_between_the_claim_of_the_fast_path_and_the_deployed_mass(seed, clients, radius, jitter) -> None:
    """With jitter there are more different scales than are counted exactly, and shares are rounded."""
    dimension = 3 if jitter == 0 else 2 * lattice.MOST_SHARES
    fast_rule, laws, rule, parties = make(seed, clients, dimension, jitter)
    claimed = lattice_log_mass(fast_rule, laws, torch.tensor([radius], dtype=torch.float64))
    with ctx.workprec(PRECISION):
        own = lattice.lattice_of(rule, parties)
        assert any(shares.distortion for shares in own.shares) == (jitter > 0)
        found, whole = (f(np.full(dimension, radius)) for f in (own.mass, central_mass))
        assert found <= whole
        assert float(found.lower()) >= math.exp(claimed)
        assert radius < 2 or found >= 0.1 * whole


@pytest.mark.parametrize(
    "parts", [((1.0, 1.0),), ((0.6, 1.0), (0.4, 2.0)), ((1.0, 0.48), (1.0, 0.6), (2.0, 0.32))]
)
def test_counted_are_the_tuples_whose_image_lies_inside(monkeypatch, parts) -> None:
    monkeypatch.setattr(lattice, "CELLS", 2)
    lattice.probability.cache_clear()
    contribution = [w * sigma for w, sigma in parts]
    unit = math.sqrt(sum(c * c for c in contribution))
    shares = [c / unit for c in contribution]
    radius, m = 2.0, 2 * len(parts)
    steps = [radius / (m * a) for a in shares]
    reach = [math.ceil(lattice.WIDEST / t) for t in steps]
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
    _, _, rule, parties = make(0, 2, 3, 0.0)
    zero = Rule("linear", 2, np.array([[1.0], [0.0]]), None, 0)
    with ctx.workprec(PRECISION), pytest.raises(InvalidCertificate, match="not zero"):
        lattice.lattice_of(zero, parties)
    assert rule.clients == 2
