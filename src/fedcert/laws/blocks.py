"""Blocks: independent parts of the noise of a parameter vector, each about a range of parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.block_protocol import Block, check_numbers, normals, scaled
from fedcert.laws.diagonal import LARGEST


@dataclass(frozen=True)
class DiagonalBlock:
    """σ∘z.

    Attributes:
        start: the first parameter.
        scale: σ ≥ 0.
    """

    code: ClassVar[int] = 1

    start: int
    scale: Float64[Tensor, "n"]

    def __post_init__(self) -> None:
        check_numbers("a scale", self.scale)
        if not (self.scale >= 0).all():
            raise InvalidLaw("a scale is negative")

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.scale)

    @property
    def lengths(self) -> tuple[int, int]:
        """N, and 1."""
        return len(self.scale), 1

    @property
    def random(self) -> bool:
        """Whether some scale is not 0."""
        return bool(self.scale.any())

    @property
    def scaling(self) -> Float64[Tensor, "n"]:
        """The scales."""
        return self.scale

    def numbers(self) -> Float64[Tensor, "N"]:
        """The scales."""
        return self.scale

    @classmethod
    def read(cls, start: int, lengths: tuple[int, int], numbers: Float64[Tensor, "N"]) -> "DiagonalBlock":
        """The block that a file states."""
        if lengths[1] != 1:
            raise InvalidLaw("a diagonal block has one number a parameter")
        return cls(start, numbers)

    @staticmethod
    def count(first: int, second: int) -> int:
        """The number of numbers."""
        return first * second

    def times(self, weight: Float64[Tensor, ""]) -> "DiagonalBlock":
        """|w| σ∘z."""
        return replace(self, scale=scaled(self.scale, weight.abs()))

    def to(self, device: torch.device | str) -> "DiagonalBlock":
        """The same block on another device."""
        return replace(self, scale=self.scale.to(device))

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n"]:
        """σ∘z."""
        return self.scale * normals(generator, self.scale, count, len(self.scale))


@dataclass(frozen=True)
class DenseBlock:
    """F z.

    Attributes:
        start: the first parameter.
        factor: F.
    """

    code: ClassVar[int] = 2

    start: int
    factor: Float64[Tensor, "n q"]

    def __post_init__(self) -> None:
        check_numbers("an entry of a factor", self.factor)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.factor)

    @property
    def lengths(self) -> tuple[int, int]:
        """N and q."""
        return self.factor.shape[0], self.factor.shape[1]

    @property
    def random(self) -> bool:
        """Whether F is not 0."""
        return bool(self.factor.any())

    @property
    def scaling(self) -> Float64[Tensor, "n q"]:
        """F."""
        return self.factor

    def numbers(self) -> Float64[Tensor, "N"]:
        """F, row by row."""
        return self.factor.flatten()

    @classmethod
    def read(cls, start: int, lengths: tuple[int, int], numbers: Float64[Tensor, "N"]) -> "DenseBlock":
        """The block that a file states."""
        return cls(start, numbers.view(lengths))

    @staticmethod
    def count(first: int, second: int) -> int:
        """The number of numbers."""
        return first * second

    def times(self, weight: Float64[Tensor, ""]) -> "DenseBlock":
        """The block w F z."""
        return replace(self, factor=scaled(self.factor, weight))

    def to(self, device: torch.device | str) -> "DenseBlock":
        """The same block on another device."""
        return replace(self, factor=self.factor.to(device))

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n"]:
        """F z."""
        return normals(generator, self.factor, count, self.factor.shape[1]) @ self.factor.mT


@dataclass(frozen=True)
class KroneckerBlock:
    """U (D∘Z) Vᵀ, of a matrix of parameters, row by row.

    Attributes:
        start: the first parameter.
        left: U; nothing is assumed of it.
        right: V; nothing is assumed of it.
        scale: D ≥ 0.
    """

    code: ClassVar[int] = 3

    start: int
    left: Float64[Tensor, "m m"]
    right: Float64[Tensor, "k k"]
    scale: Float64[Tensor, "m k"]

    def __post_init__(self) -> None:
        check_numbers("a scale", self.scale)
        if not (self.scale >= 0).all():
            raise InvalidLaw("a scale is negative")
        for factor in (self.left, self.right):
            if not (factor.abs() <= LARGEST).all():
                raise InvalidLaw("a Kronecker factor must be finite")

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.scale.numel()

    @property
    def lengths(self) -> tuple[int, int]:
        """M and k."""
        return self.scale.shape[0], self.scale.shape[1]

    @property
    def random(self) -> bool:
        """Whether some scale is not 0."""
        return bool(self.scale.any())

    @property
    def scaling(self) -> Float64[Tensor, "m k"]:
        """D."""
        return self.scale

    def numbers(self) -> Float64[Tensor, "N"]:
        """U, V and D, row by row."""
        return torch.cat([self.left.flatten(), self.right.flatten(), self.scale.flatten()])

    @classmethod
    def read(cls, start: int, lengths: tuple[int, int], numbers: Float64[Tensor, "N"]) -> "KroneckerBlock":
        """The block that a file states."""
        m, k = lengths
        left, right, scale = numbers.split([m * m, k * k, m * k])
        return cls(start, left.view(m, m), right.view(k, k), scale.view(m, k))

    @staticmethod
    def count(first: int, second: int) -> int:
        """The number of numbers."""
        return first * first + second * second + first * second

    def times(self, weight: Float64[Tensor, ""]) -> "KroneckerBlock":
        """The block of |w| D."""
        return replace(self, scale=scaled(self.scale, weight.abs()))

    def to(self, device: torch.device | str) -> "KroneckerBlock":
        """The same block on another device."""
        return KroneckerBlock(self.start, self.left.to(device), self.right.to(device), self.scale.to(device))

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n"]:
        """U (D∘Z) Vᵀ."""
        z = normals(generator, self.scale, count, *self.scale.shape)
        return (self.left @ (self.scale * z) @ self.right.mT).flatten(1)


BLOCKS: Mapping[int, type[DiagonalBlock] | type[DenseBlock] | type[KroneckerBlock]] = {
    own.code: own for own in (DiagonalBlock, DenseBlock, KroneckerBlock)
}
"""The types of blocks, by the number that a file gives them."""


def stated(blocks: Sequence[Block]) -> tuple[Float64[Tensor, "K 4"], Float64[Tensor, "N"]]:
    """A table of the blocks' types, starts and lengths, and all their numbers, one block after the other.

    Args:
        blocks: of a law.
    """
    table = [[own.code, own.start, *own.lengths] for own in blocks]
    numbers = [own.numbers() for own in blocks]
    empty = torch.zeros(0, dtype=torch.float64)
    return torch.tensor(table, dtype=torch.float64).view(-1, 4), torch.cat([empty, *numbers])


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
