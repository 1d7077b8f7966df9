"""Blocks: independent parts of the noise of a parameter vector, each about a range of parameters."""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.block_protocol import check_numbers, outward, scaled
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

    @property
    def columns(self) -> int:
        """N, one normal a parameter."""
        return len(self.scale)

    def noise(self, z: Float64[Tensor, "B n"]) -> Float64[Tensor, "B n"]:
        """σ∘z."""
        return self.scale * z

    @property
    def roundings(self) -> int:
        """That of the product."""
        return 1

    @property
    def reach(self) -> Float64[Tensor, "n"]:
        """The scales."""
        return outward(self.scale)


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

    @property
    def columns(self) -> int:
        """Q, one normal a column."""
        return self.factor.shape[1]

    def noise(self, z: Float64[Tensor, "B q"]) -> Float64[Tensor, "B n"]:
        """F z."""
        return z @ self.factor.mT

    @property
    def roundings(self) -> int:
        """Those of a sum of q products."""
        return self.columns + 1

    @property
    def reach(self) -> Float64[Tensor, "n"]:
        """Sums of |F| along its rows."""
        return outward(self.factor.abs().sum(-1))


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

    @property
    def columns(self) -> int:
        """The number of entries of Z."""
        return self.scale.numel()

    def noise(self, z: Float64[Tensor, "B q"]) -> Float64[Tensor, "B n"]:
        """U (D∘Z) Vᵀ; z holds Z row by row."""
        Z = self.scale * z.reshape(len(z), *self.scale.shape)
        return (self.left @ Z @ self.right.mT).flatten(1)

    @property
    def roundings(self) -> int:
        """Those of D∘Z and of two sums of products."""
        return len(self.left) + len(self.right) + 3

    @property
    def reach(self) -> Float64[Tensor, "n"]:
        """The entries of |U| D |V|ᵀ."""
        rows = outward(self.left.abs() @ outward(self.scale))
        return outward(rows @ self.right.abs().mT).flatten()
