"""Blocks: their noise against exact arithmetic, and what is no block is refused."""

import pytest
import torch
from block_cases import BLOCKS, exact_matrix, exact_noise
from flint import arb
from fuzz.balls import EXACT, precision
from problems import normal

from fedcert.errors import InvalidLaw
from fedcert.laws.block_protocol import Block, scaled
from fedcert.laws.blocks import DenseBlock, DiagonalBlock, KroneckerBlock
from fedcert.numerics.rounding import gamma
from fedcert.randomness import stream


@pytest.mark.parametrize("value", [-1.0, float("nan"), 1e-200, 1e200])
def test_numbers_that_are_no_scales_are_refused(value: float) -> None:
    with pytest.raises(InvalidLaw):
        DiagonalBlock(0, torch.full((1,), value, dtype=torch.float64))
    eye = torch.eye(1).double()
    with pytest.raises(InvalidLaw):
        KroneckerBlock(0, eye, eye, torch.full((1, 1), value, dtype=torch.float64))


def test_a_factor_that_is_not_finite_is_refused() -> None:
    eye = torch.eye(1).double()
    for value in (float("nan"), float("inf")):
        with pytest.raises(InvalidLaw, match="finite"):
            KroneckerBlock(0, eye * value, eye, eye)


def test_a_product_that_underflows_is_refused() -> None:
    with pytest.raises(InvalidLaw, match="too small"):
        scaled(torch.full((1,), 1e-90, dtype=torch.float64), torch.tensor(1e-300, dtype=torch.float64))


@pytest.mark.parametrize("own", BLOCKS, ids=lambda own: type(own).__name__)
def test_samples_have_the_variance_of_the_block(own: Block) -> None:
    drawn = own.times(torch.tensor(2.0).double()).noise(normal(stream(1, "samples"), 20_000, own.columns))
    covariance = drawn.mT @ drawn / len(drawn)
    match own:
        case DiagonalBlock():
            exact = torch.diag(own.scale.square())
        case DenseBlock():
            exact = own.factor @ own.factor.mT
        case KroneckerBlock():
            whole = torch.kron(own.left, own.right) * own.scale.flatten()
            exact = whole @ whole.mT
    deviation = (4 * exact).diagonal().sqrt()
    assert ((covariance - 4 * exact) / deviation.outer(deviation)).abs().max() < 6 * (2 / len(drawn)) ** 0.5


@pytest.mark.parametrize("own", BLOCKS, ids=lambda own: type(own).__name__)
def test_the_noise_is_within_its_roundings_and_the_reach_above_all_sums(own: Block) -> None:
    z = normal(stream(2, "noise"), 5, own.columns).clamp(-8, 8)
    found, reach = own.noise(z), own.reach.tolist()
    with precision(EXACT):
        matrix = exact_matrix(own)
        for a, row in enumerate(matrix):
            total = sum((abs(entry) for entry in row), arb(0))
            assert total <= arb(reach[a])
            assert arb(reach[a]) <= total * 1.001
        for number in range(5):
            for a, exact in enumerate(exact_noise(matrix, z[number].tolist())):
                assert abs(exact - found[number, a].item()) <= 8 * gamma(own.roundings) * arb(reach[a])


def test_the_reach_has_room_for_underflow() -> None:
    """Products of tiny factors are lost before a large factor would make them visible."""
    one = torch.ones(1, 1).double()
    own = KroneckerBlock(0, 1e-300 * one, 1e100 * one, 1e-100 * one)
    z = torch.full((1, 1), 0.75, dtype=torch.float64)
    found = own.noise(z).item()
    with precision(EXACT):
        ((exact,),) = exact_matrix(own)
        lost = abs(exact * arb(0.75) - found)
        assert lost > 8 * gamma(own.roundings) * abs(exact)
        assert lost <= 8 * gamma(own.roundings) * arb(own.reach.item())
