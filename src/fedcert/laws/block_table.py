"""Blocks as a file states them: a table of types, places and lengths, and one list of numbers."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.block_protocol import Block
from fedcert.laws.blocks import DenseBlock, DiagonalBlock, KroneckerBlock

BLOCKS: Mapping[int, type[DiagonalBlock] | type[DenseBlock] | type[KroneckerBlock]] = {
    own.code: own for own in (DiagonalBlock, DenseBlock, KroneckerBlock)
}
"""The types of blocks, by the number that a file gives them."""


def stated(blocks: Sequence[Block]) -> tuple[Float64[Tensor, "K 4"], Float64[Tensor, "N"]]:
    """A table of the blocks' types, starts and lengths, and all their numbers, one block after the other.

    Args:
        blocks: of a law.
    """
    table = torch.tensor([[own.code, own.start, *own.lengths] for own in blocks], dtype=torch.float64)
    numbers = torch.cat([own.numbers() for own in blocks]) if blocks else torch.zeros(0, dtype=torch.float64)
    return table.view(-1, 4).to(numbers.device), numbers


def read_blocks(table: Float64[Tensor, "K 4"], numbers: Float64[Tensor, "N"]) -> tuple[Block, ...]:
    """The blocks that a file states.

    Args:
        table: types, starts and lengths.
        numbers: of all blocks.
    """
    found: list[Block] = []
    used = 0
    whole = (table >= 0) & (table <= 2**40) & (table == table.floor())
    if not whole.all():
        raise InvalidLaw("a type, a place or a length of a block is no whole number")
    for code, start, first, second in table.long().tolist():
        if code not in BLOCKS:
            raise InvalidLaw(f"a block of type {code}: known are {', '.join(map(str, BLOCKS))}")
        count = BLOCKS[code].count(first, second)
        if used + count > len(numbers):
            raise InvalidLaw(f"{len(numbers)} numbers, fewer than the blocks need")
        found.append(BLOCKS[code].read(start, (first, second), numbers[used : used + count]))
        used += count
    if used != len(numbers):
        raise InvalidLaw(f"{len(numbers)} numbers, but the blocks need {used}")
    return tuple(found)
