"""Draws of the deployed model by number: the same whichever others are made with them, and wherever."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Float32
from torch import Tensor

from fedcert.federation.joint import JointDraws, Sampled
from fedcert.federation.normals import CountedNormals
from fedcert.laws import DiagonalGaussian, Law
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearMap

BLOCK = 16  # draws of a law that is no Gaussian with independent parameters, from a generator of their own


@runtime_checkable
class Numbered(Protocol):
    """The parameters of drawn networks, by number."""

    def __call__(self, first: int, count: int) -> Float[Tensor, "count n_w"]:
        """Draws first, …, first + count − 1.

        Args:
            first: the number of the first.
            count: how many.
        """
        ...


@dataclass(frozen=True, eq=False)
class GaussianDraws:
    """centre + Σ_i s_i ∘ Z_i with a stream of standard normals for each i.

    Attributes:
        centre: in single precision.
        scales: s_i.
        key: of the generator.
    """

    centre: Float32[Tensor, "n_w"]
    scales: Sequence[Float32[Tensor, "n_w"]]
    key: tuple[int, int]

    def __call__(self, first: int, count: int) -> Float32[Tensor, "count n_w"]:
        """Draws first, …, first + count − 1.

        Args:
            first: the number of the first.
            count: how many.
        """
        normals = CountedNormals(self.key, len(self.centre))
        total: Tensor | None = None
        for i, scale in enumerate(self.scales):
            z = normals(i, first, count, self.centre.device)
            before = self.centre if total is None else total
            total = torch.addcmul(before, scale, z, out=z if total is None else total)
        assert total is not None
        return total


@dataclass(frozen=True, eq=False)
class BlockDraws:
    """Draws of any law, in blocks of sixteen from generators of their own, made on a processor.

    Attributes:
        law: what is drawn from.
        seed: of the generators.
    """

    law: Sampled
    seed: int

    def __call__(self, first: int, count: int) -> Float[Tensor, "count n_w"]:
        """Draws first, …, first + count − 1.

        Args:
            first: the number of the first.
            count: how many.
        """
        blocks = range(first // BLOCK, -(-(first + count) // BLOCK))
        drawn = [self.law.sample(BLOCK, stream(self.seed, "block", block)) for block in blocks]
        start = first - blocks.start * BLOCK
        return torch.cat(drawn)[start : start + count]


def draws_of(law: Sampled, generator: torch.Generator) -> Numbered:
    """Draws of a law.

    Args:
        law: the deployed law.
        generator: the source of randomness, which chooses the key.
    """
    key = _key(generator)
    if isinstance(law, DiagonalGaussian):
        return GaussianDraws(law.loc.float(), [law.scale.float()], key)
    return BlockDraws(law, key[0])


def joint_draws(laws: Sequence[Law], rule: AggregationRule, generator: torch.Generator) -> Numbered:
    """Aggregates of joint client draws: A(θ_1, …, θ_n), A(μ_1, …, μ_n) + Σ_i w_i σ_i Z_i if A is linear.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        generator: the source of randomness, which chooses the key.
    """
    gaussians = [law for law in laws if isinstance(law, DiagonalGaussian)]
    if not isinstance(rule, LinearMap) or len(gaussians) < len(laws):
        return draws_of(JointDraws(laws, rule), generator)
    scales = [(w * law.scale).float() for w, law in zip(rule.weights, gaussians, strict=True)]
    return GaussianDraws(rule([law.loc for law in gaussians]).float(), scales, _key(generator))


def _key(generator: torch.Generator) -> tuple[int, int]:
    one, other = torch.randint(2**62, (2,), generator=generator, device=generator.device).tolist()
    return one, other
