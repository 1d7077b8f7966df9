"""Gaussians that are sums of blocks, as a message states them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedcert_check.validation import Array, require, shaped

MAX_BLOCKS = 10_000
DIAGONAL, DENSE, KRONECKER = 1, 2, 3
"""The types of blocks, by the numbers that a file gives them."""

_COUNTS: Mapping[int, Callable[[int, int], int]] = {
    DIAGONAL: lambda first, second: first * second,
    DENSE: lambda first, second: first * second,
    KRONECKER: lambda first, second: first * first + second * second + first * second,
}


class Block(NamedTuple):
    """Noise of a range of parameters, stated by some numbers.

    It is σ∘z (σ ≥ 0, of shape (n, 1)), F z (F of shape (n, q)), or U (D∘Z) Vᵀ of a matrix, row by row (U, V
    and D ≥ 0 of shapes (m, m), (k, k) and (m, k)), with independent standard normals.

    Attributes:
        code: its type.
        start: the first parameter.
        first: n, n or m.
        second: 1, q or k.
        numbers: σ, F, or U, V and D.
    """

    code: int
    start: int
    first: int
    second: int
    numbers: Array

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.first * self.second if self.code == KRONECKER else self.first

    @property
    def stop(self) -> int:
        """The first parameter after it."""
        return self.start + self.size

    @property
    def matrix(self) -> Array:
        """σ or F, of shape (first, second)."""
        return self.numbers.reshape(self.first, self.second)

    @property
    def kronecker(self) -> tuple[Array, Array, Array]:
        """U, V and D."""
        m, k = self.first, self.second
        left, right, scale = np.split(self.numbers, [m * m, m * m + k * k])
        return left.reshape(m, m), right.reshape(k, k), scale.reshape(m, k)

    @property
    def random(self) -> bool:
        """Whether there is any noise."""
        scaling = self.kronecker[2] if self.code == KRONECKER else self.numbers
        return bool(scaling.any())


@dataclass(frozen=True, eq=False)
class BlockGaussian:
    """The law of μ + Σ_t T_t z_t.

    Attributes:
        loc: μ, of shape (n_w,).
        blocks: T_t.
    """

    loc: Array
    blocks: tuple[Block, ...]

    @classmethod
    def read(cls, arrays: Mapping[str, Array], dimension: int, prefix: str = "law.") -> "BlockGaussian":
        """The law of a message, or one that a file states itself.

        Args:
            arrays: the tensors of the message or the file.
            dimension: n_w.
            prefix: of the tensors' names.
        """
        loc = shaped(prefix + "loc", arrays.get(prefix + "loc"), np.float64, dimension)
        table = shaped(prefix + "blocks", arrays.get(prefix + "blocks"), np.float64, None, 4)
        numbers = shaped(prefix + "numbers", arrays.get(prefix + "numbers"), np.float64, None)
        require(len(table) <= MAX_BLOCKS, f"a law of {len(table)} blocks")
        whole = (table >= 0) & (table <= 2.0**40) & (table == np.floor(table))
        require(bool(whole.all()), "a type, a place or a length of a block is no whole number")
        blocks, used = [], 0
        for code, start, first, second in table.astype(np.int64).tolist():
            require(code in _COUNTS, f"a block of type {code}")
            count = _COUNTS[code](first, second)
            require(used + count <= len(numbers), "fewer numbers than the blocks need")
            own = Block(code, start, first, second, numbers[used : used + count])
            require(own.code != DIAGONAL or second == 1, "a diagonal block has one number a parameter")
            require(own.stop <= dimension, f"a block up to parameter {own.stop} of {dimension}")
            scales = own.kronecker[2] if code == KRONECKER else own.numbers
            require(code == DENSE or bool((scales >= 0).all()), "a scale is negative")
            blocks.append(own)
            used += count
        require(used == len(numbers), "more numbers than the blocks need")
        return cls(loc, tuple(blocks))

    @classmethod
    def of_factor(cls, loc: Array, factor: Array) -> "BlockGaussian":
        """N(μ, F Fᵀ) as one block.

        Args:
            loc: μ.
            factor: F.
        """
        rows, columns = factor.shape
        return cls(loc, (Block(DENSE, 0, rows, columns, factor.reshape(-1)),))

    @property
    def table(self) -> Array:
        """The types, places and lengths of the blocks, as a message states them."""
        rows = [(own.code, own.start, own.first, own.second) for own in self.blocks]
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    @property
    def numbers(self) -> Array:
        """The numbers of all blocks, one after the other."""
        return np.concatenate([np.zeros(0), *(own.numbers for own in self.blocks)])

    @property
    def components(self) -> tuple["BlockGaussian", ...]:
        """The law itself, its only component."""
        return (self,)

    @property
    def exact(self) -> bool:
        """It is stated without error."""
        return True

    @property
    def weights(self) -> Array:
        """Of its only component."""
        return np.ones(1)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All that the message says of it."""
        return self.loc, *(own.numbers for own in self.blocks)
