"""Blocks are read as they were stated, and what is no block is refused."""

import pytest
import torch
from block_cases import BLOCKS

from fedcert.errors import InvalidLaw
from fedcert.laws.block_table import read_blocks, stated


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
