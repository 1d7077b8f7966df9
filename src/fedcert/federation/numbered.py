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
    """centre + s ∘ Z with standard normals Z.

    Attributes:
        centre: in single precision.
        scale: s.
        key: of the generator.
    """

    centre: Float32[Tensor, "n_w"]
    scale: Float32[Tensor, "n_w"]
    key: tuple[int, int]

    def __call__(self, first: int, count: int) -> Float32[Tensor, "count n_w"]:
        """Draws first, …, first + count − 1.

        Args:
            first: the number of the first.
            count: how many.
        """
        z = CountedNormals(self.key, len(self.centre))(0, first, count, self.centre.device)
        return torch.addcmul(self.centre, self.scale, z, out=z)


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
        return GaussianDraws(law.loc.float(), law.scale.float(), key)
    return BlockDraws(law, key[0])


def joint_draws(laws: Sequence[Law], rule: AggregationRule, generator: torch.Generator) -> Numbered:
    """Aggregates of joint client draws: A(θ_1, …, θ_n).

    If A is linear that is A(μ_1, …, μ_n) + Σ_i w_i σ_i Z_i: a sum of independent normals is one normal of
    deviation √Σ_i w_i² σ_i², which is drawn in their place.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        generator: the source of randomness, which chooses the key.
    """
    gaussians = [law for law in laws if isinstance(law, DiagonalGaussian)]
    if not isinstance(rule, LinearMap) or len(gaussians) < len(laws):
        return draws_of(JointDraws(laws, rule), generator)
    scales = torch.stack([w * law.scale for w, law in zip(rule.weights, gaussians, strict=True)])
    centre = rule([law.loc for law in gaussians])
    return GaussianDraws(centre.float(), scales.norm(dim=0).float(), _key(generator))


def _key(generator: torch.Generator) -> tuple[int, int]:
    one, other = torch.randint(2**62, (2,), generator=generator, device=generator.device).tolist()
    return one, other
