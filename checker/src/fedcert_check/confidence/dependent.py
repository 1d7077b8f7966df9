"""Gaussians whose parameters depend on each other, drawn from: μ + Σ_t T_t z_t, one block after the other.

With |z − z̃| ≤ ε for the computed normals z̃ and |z̃| ≤ 8, the exact draw differs from μ + Σ_t T_t z̃_t by at
most ε S, S = Σ_t |T_t| 1, and floating point finds that up to γ (|μ| + 8 S) (docs/soundness.md, 12).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedcert_check.blocks import DENSE, DIAGONAL, Block, BlockGaussian
from fedcert_check.confidence.normals import LARGEST_NORMAL, NORMAL_ERROR
from fedcert_check.confidence.seed import block_law_digest
from fedcert_check.validation import Array

UNIT = 2.0**-53
UPWARD = 1 + 2.0**-20  # more than the roundings of a sum of numbers that are not negative
LEAST = 2.0**-900  # added to such sums: a rounding of it is more than what underflow may lose
ALL = [(0, 2**64 - 1)]  # the words that choose the only component


@dataclass(frozen=True, eq=False)
class Dependent:
    """A sum of blocks, ready to be drawn from.

    Attributes:
        stated: the law as a message states it.
    """

    stated: BlockGaussian

    @property
    def dimension(self) -> int:
        """n_w."""
        return len(self.stated.loc)

    @property
    def normals(self) -> int:
        """The number of standard normals of a draw, those of all blocks."""
        return sum(map(normals_of, self.stated.blocks))

    @property
    def products(self) -> int:
        """The number of multiplications of a draw."""
        return self.dimension + sum(map(products_of, self.stated.blocks))

    @property
    def digest(self) -> str:
        """What stands for the law in the seed, if no message states it."""
        return block_law_digest(self.stated.loc, self.stated.table, self.stated.numbers)

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return sum(array.nbytes for array in self.stated.arrays)

    def ends(self) -> list[tuple[int, int]]:
        """Every word chooses the only component."""
        return list(ALL)

    @cached_property
    def spread(self) -> Array:
        """Upper bounds of S."""
        total = np.zeros(self.dimension)
        for own in self.stated.blocks:
            total[own.start : own.stop] += row_sums(own)
        return total * UPWARD

    @property
    def size(self) -> Array:
        """A bound of the absolute value of each parameter, whatever the draw."""
        largest: Array = (abs(self.stated.loc) + LARGEST_NORMAL * self.spread) * UPWARD
        return largest

    @property
    def radius(self) -> Array:
        """What the normals and the sums are off by."""
        blocks = self.stated.blocks
        count = max(map(roundings_of, blocks), default=0) + len(blocks) + 1
        relative = count * UNIT / (1 - count * UNIT)
        off: Array = (NORMAL_ERROR * self.spread + relative * self.size) * UPWARD
        return off

    def draw(self, component: int, z: Array) -> Array:
        """The parameters μ + Σ_t T_t z_t, in floating point.

        Args:
            component: 0, the only one.
            z: standard normals, those of each block after those of the block before.
        """
        theta, used = self.stated.loc.copy(), 0
        for own in self.stated.blocks:
            count = normals_of(own)
            theta[own.start : own.stop] += noise(own, z[used : used + count])
            used += count
        return theta


def normals_of(block: Block) -> int:
    """The number of normals of a block: n, q, or m k."""
    return block.first if block.code == DIAGONAL else block.second if block.code == DENSE else block.size


def products_of(block: Block) -> int:
    """The number of multiplications: n, n q, or m k (m + k + 1)."""
    if block.code in (DIAGONAL, DENSE):
        return block.first * block.second
    return block.size * (block.first + block.second + 1)


def roundings_of(block: Block) -> int:
    """The most that any one term passes through: 1, those of a sum of q products, or of two such sums."""
    if block.code == DIAGONAL:
        return 1
    return block.second + 1 if block.code == DENSE else block.first + block.second + 3


def noise(block: Block, z: Array) -> Array:
    """T z, in floating point: σ∘z, F z, or U (D∘Z) Vᵀ with Z filled row by row.

    Args:
        block: T.
        z: as many normals as it has.
    """
    if block.code == DIAGONAL:
        return np.asarray(block.numbers * z)
    if block.code == DENSE:
        return np.asarray(block.matrix @ z)
    left, right, scale = block.kronecker
    return np.asarray(left @ (scale * z.reshape(scale.shape)) @ right.T).reshape(-1)


def row_sums(block: Block) -> Array:
    """Upper bounds of Σ_q |T_aq|: σ, the sums of |F|, or |U| D |V|ᵀ.

    Args:
        block: T.
    """
    if block.code in (DIAGONAL, DENSE):
        return np.asarray(abs(block.matrix).sum(-1) * UPWARD + LEAST)
    left, right, scale = block.kronecker
    rows = abs(left) @ (scale * UPWARD + LEAST) * UPWARD + LEAST
    return np.asarray(rows @ abs(right).T * UPWARD + LEAST).reshape(-1)
