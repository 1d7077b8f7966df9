"""Kronecker factors of sizes that only their product makes sense of."""

from typing import TypeVar

import torch

from fedcert.laws import BlockGaussian
from fedcert.laws.block_protocol import LARGEST
from fedcert.laws.blocks import KroneckerBlock
from fuzz.hostile import between, choice

Law = TypeVar("Law")
LEAST, MOST = -90.0, 90.0  # powers of ten of a scale: a rule may multiply it


def rescaled(generator: torch.Generator, law: Law) -> Law | BlockGaussian:
    """The law with tiny or huge U and V, and with scales that undo it as far as they may.

    Args:
        generator: the source of randomness.
        law: any; one without Kronecker blocks stays what it is.
    """
    if not isinstance(law, BlockGaussian) or choice(generator, True, True, False):
        return law
    left, right = between(generator, -99, 60), choice(generator, 0.0, between(generator, -150, 60))
    scale = min(max(-left - right, LEAST), MOST)

    def changed(own: KroneckerBlock) -> KroneckerBlock:
        return KroneckerBlock(
            own.start,
            (own.left * 10**left).clamp(-LARGEST, LARGEST),
            (own.right * 10**right).clamp(-LARGEST, LARGEST),
            torch.where(own.scale == 0, 0.0, (own.scale * 10**scale).clamp(10**LEAST, 10**MOST)),
        )

    blocks = (changed(own) if isinstance(own, KroneckerBlock) else own for own in law.blocks)
    return BlockGaussian(law.loc, tuple(blocks))
