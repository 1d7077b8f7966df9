"""Deviations of Kronecker-factored noise are bounded, against exact arithmetic."""

import torch
from flint import arb
from fuzz.balls import EXACT, above, balls, below, dot, precision
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import normal, uniform

from fedcert.laws.kronecker import KroneckerPart, least_products, sizes_of_products
from fedcert.randomness import stream

M, K = 2, 3


@given(
    seed=st.integers(0, 10_000),
    unit=st.sampled_from([1e-90, 1.0, 1e60]),
    size=st.sampled_from([1e-200, 1e-80, 1.0, 1e60]),
    rotated=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_no_projection_has_a_larger_deviation(seed: int, unit: float, size: float, rotated: bool) -> None:
    generator = stream(seed, "kronecker")
    left, right = normal(generator, M, M), normal(generator, K, K)
    if rotated:
        left, right = torch.linalg.qr(left).Q, torch.linalg.qr(right).Q
    part = KroneckerPart(left, right, unit * uniform(generator, M, K))
    rows, h = size * normal(generator, 1, 1, M), normal(generator, 1, K)
    noise = part.noise(rows)
    with precision(EXACT):
        B, x = balls(rows[0, 0]), balls(h[0])
        U, V, D = balls(left), balls(right), balls(part.scale)
        seen = [dot(B, [U[i][a] for i in range(M)]) for a in range(M)]

        def variance(v: list[arb]) -> arb:
            own = [dot(v, [V[k][b] for k in range(K)]) for b in range(K)]
            return sum(((seen[a] * D[a][b] * own[b]) ** 2 for a in range(M) for b in range(K)), arb(0))

        assert above(noise.at(h).item(), variance(x).sqrt())
        assert below(noise.at_least(h).item(), variance(x).sqrt())
        for k in range(K):
            unit_input = [arb(int(k == j)) for j in range(K)]
            assert above(noise.weight[0, 0, k].item(), variance(unit_input).sqrt())
        found = noise.steepest(h.abs()).item()
        for corner in range(2**K):
            v = [abs(x[k]) * (1 if corner >> k & 1 else -1) for k in range(K)]
            assert above(found, variance(v).sqrt())
        stretch = arb(part.stretch.item())
        own = [dot(x, [V[k][b] for k in range(K)]) for b in range(K)]
        assert dot(own, own) <= stretch * dot(x, x)


def test_an_orthogonal_factor_stretches_nothing() -> None:
    V = torch.linalg.qr(normal(stream(0, "orthogonal"), 60, 60)).Q
    part = KroneckerPart(torch.eye(2).double(), V, torch.ones(2, 60).double())
    assert 1 <= part.stretch.item() <= 1 + 1e-10


def test_noise_of_equal_scales_is_that_of_independent_weights() -> None:
    """With D = σ and rotations, W̃ is σ Z: nothing is lost but the stretch."""
    generator = stream(1, "equal")
    left, right = (torch.linalg.qr(normal(generator, n, n)).Q for n in (4, 30))
    noise = KroneckerPart(left, right, torch.full((4, 30), 0.5).double()).noise(normal(generator, 1, 3, 4))
    delta = torch.full((1, 30), 0.1).double()
    independent = (noise.weight * delta.unsqueeze(-2)).norm(dim=-1)
    assert torch.allclose(noise.steepest(delta), independent, rtol=1e-6)


def test_sizes_of_products_hold_where_products_cancel() -> None:
    rows = torch.tensor([[1.0, -1.0]]).double()
    matrix = torch.tensor([[1.0], [1.0 - 2.0**-53]]).double()
    assert sizes_of_products(rows, matrix).item() >= 2.0**-53
    assert least_products(rows, matrix).item() == 0


def test_the_smallest_scales_of_a_computed_law_bound_from_below() -> None:
    part = KroneckerPart(torch.eye(1).double(), torch.eye(1).double(), torch.ones(1, 1).double(), 0.25)
    one = torch.ones(1, 1, 1).double()
    assert 0.74 < part.noise(one).at_least(one[0]).item() <= 0.75
