"""Gaussians whose noise is a sum of independent blocks: diagonal, dense and Kronecker-factored ones."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.affine import RandomAffine
from fedcert.laws.block_layers import Blocks
from fedcert.laws.block_protocol import Block, normals
from fedcert.laws.block_table import read_blocks, stated
from fedcert.laws.blocks import DenseBlock, DiagonalBlock
from fedcert.laws.dense import DenseGaussian
from fedcert.laws.diagonal import LARGEST
from fedcert.laws.protocol import DiagonalLaw, GaussianLaw
from fedcert.model.network import Network
from fedcert.numerics.convert import doubled
from fedcert.numerics.rounding import require_float64

MAX_BLOCKS = 10_000
"""Maximum number of blocks of a law that a message states."""


@dataclass(frozen=True)
class BlockGaussian:
    """θ = μ + Σ_t T_t z_t with independent standard normals z_t, each block T_t about a range of parameters.

    Parameters that no block is about are fixed. Blocks may overlap: their noise adds up. A posterior of the
    last layer is one block; a Kronecker-factored posterior one for each weight matrix and each bias.

    A law that was itself computed has a mean within `loc_error`, and scales and factors within a relative
    `factor_error`, entry by entry.

    Attributes:
        loc: μ, finite.
        blocks: T_t.
        loc_error: bound of |μ* − μ|; None where μ is exact.
        factor_error: at most ½.

    Examples:
        >>> head = DenseBlock(1, torch.tensor([[1.0, 0.0], [0.5, 2.0]]).double())
        >>> BlockGaussian(torch.zeros(3).double(), (head,)).dimension
        3
    """

    kind: ClassVar[str] = "block-gaussian"
    fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "loc": ("n_w",), "blocks": ("K", "four"), "numbers": ("N",),
    }  # fmt: skip
    limits: ClassVar[Mapping[str, int]] = {"K": MAX_BLOCKS, "four": 4}

    loc: Float64[Tensor, "n_w"]
    blocks: tuple[Block, ...]
    loc_error: Float64[Tensor, "n_w"] | None = None
    factor_error: float = 0.0

    def __post_init__(self) -> None:
        doubled(self, "a law's mean", "loc")
        require_float64("the error of a law's mean", self.loc_error)
        if self.loc.dim() != 1 or not (self.loc.abs() <= LARGEST).all():
            raise InvalidLaw("the mean must be a finite vector, without values beyond 1e100")
        if self.loc_error is not None and self.loc_error.shape != self.loc.shape:
            raise InvalidLaw(f"errors of shape {tuple(self.loc_error.shape)} for {len(self.loc)} means")
        if not 0 <= self.factor_error <= 0.5:
            raise InvalidLaw(f"the error of a factor must lie in [0, 0.5], not {self.factor_error}")
        for own in self.blocks:
            if own.start < 0 or own.start + own.size > self.dimension:
                raise InvalidLaw(
                    f"a block of the parameters {own.start} to {own.start + own.size - 1}, but there are"
                    f" {self.dimension}"
                )

    @classmethod
    def of(cls, law: GaussianLaw) -> "BlockGaussian":
        """The same law, stated by blocks.

        Args:
            law: a Gaussian.
        """
        if isinstance(law, BlockGaussian):
            return law
        if isinstance(law, DenseGaussian):
            return cls(law.loc, (DenseBlock(0, law.factor),), law.loc_error, law.factor_error)
        if not isinstance(law, DiagonalLaw):
            raise InvalidLaw(f"a {type(law).__name__} is not stated by blocks")
        return cls(law.loc, (DiagonalBlock(0, law.scale),), law.loc_error, law.scale_error)

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        return len(self.loc)

    @property
    def components(self) -> tuple["BlockGaussian", ...]:
        """The law itself, its only component."""
        return (self,)

    def tensors(self) -> Mapping[str, Tensor]:
        """μ, the table of blocks and their numbers, if these are exact."""
        if self.loc_error is not None or self.factor_error:
            raise InvalidLaw("a client states its law exactly")
        table, numbers = stated(self.blocks)
        return {"loc": self.loc, "blocks": table, "numbers": numbers}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], naming: Callable[[str], AbstractContextManager[None]]
    ) -> "BlockGaussian":
        """The law that a file states; what is wrong is said of its field.

        Args:
            tensors: by field.
            naming: errors inside `naming(field)` name the field.
        """
        with naming("loc"):
            cls(tensors["loc"], ())
        with naming("blocks"):
            return cls(tensors["loc"], read_blocks(tensors["blocks"], tensors["numbers"]))

    def to(self, device: torch.device | str) -> "BlockGaussian":
        """The same law on another device."""
        error = None if self.loc_error is None else self.loc_error.to(device)
        blocks = tuple(own.to(device) for own in self.blocks)
        return BlockGaussian(self.loc.to(device), blocks, error, self.factor_error)

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """Draw the noise of every block and add it up."""
        samples = self.loc.repeat(count, 1)
        for own in self.blocks:
            z = normals(generator, self.loc, count, own.columns)
            samples[:, own.start : own.start + own.size] += own.noise(z)
        return samples

    def layers(self, network: Network) -> Sequence[RandomAffine]:
        """Each affine layer with the blocks that are about its parameters.

        Args:
            network: whose parameters the law is about.
        """
        error = torch.zeros_like(self.loc) if self.loc_error is None else self.loc_error
        return Blocks(self.loc, error, self.blocks, self.factor_error).layers(network)
