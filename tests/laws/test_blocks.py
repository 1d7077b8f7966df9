"""Blocks are read as they were stated, and what is no block is refused."""

import pytest
import torch
from problems import normal, uniform

from fedcert.errors import InvalidLaw
from fedcert.laws.blocks import (
    Block,
    DenseBlock,
    DiagonalBlock,
    KroneckerBlock,
    read_blocks,
    scaled,
    stated,
)
from fedcert.randomness import stream

GENERATOR = stream(0, "blocks")
BLOCKS = (
    DiagonalBlock(3, uniform(GENERATOR, 4)),
    DenseBlock(0, normal(GENERATOR, 5, 2)),
    KroneckerBlock(1, normal(GENERATOR, 2, 2), normal(GENERATOR, 3, 3), uniform(GENERATOR, 2, 3)),
)


def test_blocks_are_read_as_they_were_stated() -> None:
    table, numbers = stated(BLOCKS)
    again = read_blocks(table, numbers)
    assert [(own.code, own.start, own.lengths) for own in again] == [
        (own.code, own.start, own.lengths) for own in BLOCKS
    ]
    for one, other in zip(BLOCKS, again, strict=True):
        assert torch.equal(one.numbers(), other.numbers())
    assert read_blocks(*stated(())) == ()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([4, 0, 1, 1], "a block of type 4"),
        ([1.5, 0, 1, 1], "no whole number"),
        ([1, -1, 1, 1], "no whole number"),
        ([1, 0, float("nan"), 1], "no whole number"),
        ([2, 0, 2**41, 1], "no whole number"),
        ([2, 0, 3, 2**20], "fewer than the blocks need"),
        ([2, 0, 1, 1], "but the blocks need 1"),
        ([1, 0, 2, 2], "one number a parameter"),
    ],
)
def test_what_is_no_block_is_refused(row: list[float], said: str) -> None:
    with pytest.raises(InvalidLaw, match=said):
        read_blocks(torch.tensor([row], dtype=torch.float64), torch.ones(4).double())


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
    drawn = own.times(torch.tensor(2.0).double()).sample(20_000, stream(1, "samples"))
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
