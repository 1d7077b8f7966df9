"""Draws from laws whose parameters depend on each other: μ + Σ_t T_t z_t, block by block."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.confidence.draws import CHARGE, MAX_DEVIATIONS, Draws
from fedcert.errors import InvalidLaw
from fedcert.laws import BlockGaussian, GaussianLaw
from fedcert.laws.block_protocol import Block
from fedcert.numerics.rounding import gamma

SPARE = 4
"""How many times the roundings of the sums are charged: once would do. A checker whose sums are taken in
another order draws other centres, by twice these roundings."""
OUTWARD = 1 + 2.0**-20  # more than the roundings of a sum of few non-negative numbers are worth


@dataclass(frozen=True, eq=False)
class DependentClient:
    """N(μ, Σ_t T_t T_tᵀ), ready to be drawn from: the normals of each block after those of the block before.

    Attributes:
        loc: μ.
        blocks: T_t.
    """

    loc: Float64[Tensor, "n_w"]
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, law: GaussianLaw) -> "DependentClient":
        """A Gaussian that is stated exactly.

        Args:
            law: the client's posterior.
        """
        own = BlockGaussian.of(law)
        if own.loc_error is not None or own.factor_error:
            raise InvalidLaw("a law that is drawn from must be exact: this one carries a rounding error")
        return cls(own.loc, own.blocks)

    def to(self, device: torch.device | str) -> "DependentClient":
        """The same law on another device."""
        return DependentClient(self.loc.to(device), tuple(own.to(device) for own in self.blocks))

    @property
    def normals(self) -> int:
        """One for each column of a block."""
        return sum(own.columns for own in self.blocks)

    @cached_property
    def spread(self) -> Float64[Tensor, "n_w"]:
        """Upper bounds of Σ_t Σ_q |T_t,aq|."""
        total = torch.zeros_like(self.loc)
        for own in self.blocks:
            total[own.start : own.start + own.size] += own.reach
        return total * OUTWARD

    @cached_property
    def reach(self) -> Float64[Tensor, "n_w"]:
        """A bound of the absolute value of each parameter that is computed."""
        return (self.loc.abs() + MAX_DEVIATIONS * self.spread) * OUTWARD

    @cached_property
    def radius(self) -> Float64[Tensor, "n_w"]:
        """A bound of |θ − what is computed|, whatever the draw.

        What the normals are off by is multiplied by Σ|T|; a term of μ + Σ_t T_t z_t passes through the
        roundings of its block and of at most as many additions as there are blocks.
        """
        roundings = max((own.roundings for own in self.blocks), default=0) + len(self.blocks) + 1
        return (CHARGE * self.spread + SPARE * gamma(roundings) * self.reach) * OUTWARD

    def thetas(self, draws: Draws) -> tuple[Float64[Tensor, "B n_w"], Bool[Tensor, "B"]]:
        """The parameters of some draws, each to within `radius`; and which of them are that close.

        Args:
            draws: what the words of this client's streams say.
        """
        z = torch.from_numpy(draws.normals).to(self.loc.device)
        theta = self.loc.repeat(len(z), 1)
        for own, part in zip(self.blocks, z.split([own.columns for own in self.blocks], -1), strict=True):
            theta[:, own.start : own.start + own.size] += own.noise(part)
        return theta, torch.from_numpy(draws.near)
