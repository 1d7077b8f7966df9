"""Draws from laws whose parameters depend on each other: both programs' boxes, against ball arithmetic."""

from collections.abc import Iterator

import numpy as np
import torch
from confidence_statements import stated_law
from exact_draws import exact_normals, exact_theta
from flint import arb
from problems import normal, uniform

from fedcert.confidence.clients import client_of
from fedcert.confidence.draws import LEAST_WORD, Draws, box_muller
from fedcert.laws import BlockGaussian, DenseBlock, DiagonalBlock, KroneckerBlock
from fedcert.laws.block_protocol import Block
from fedcert_check.confidence.normals import normals
from fuzz.balls import precision
from fuzz.confidence import words
from fuzz.hostile import between, choice
from fuzz.verdicts import Verdict

BITS = 3000  # products of four floats of any magnitude, and sums of them


def _numbers(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Numbers of any sign, some of them 0, in units of any magnitude."""
    own = normal(generator, *shape)
    own = own.sign() * own.abs().clamp(min=1e-9)
    own[uniform(generator, *shape) < choice(generator, 0.0, 0.3)] = 0.0
    return own * 10 ** choice(generator, 0.0, between(generator, -80, 80))


def _block(generator: torch.Generator, dimension: int) -> Block:
    start = choice(generator, *range(dimension))
    size = dimension - start
    kind = choice(generator, "diagonal", "dense", "kronecker")
    if kind == "diagonal":
        return DiagonalBlock(start, _numbers(generator, size).abs())
    if kind == "dense":
        return DenseBlock(start, _numbers(generator, size, choice(generator, 1, 3, 8)))
    m, k = choice(generator, *[(m, size // m) for m in (1, 2, 3) if m <= size])
    left, right = _numbers(generator, m, m), _numbers(generator, k, k)
    return KroneckerBlock(start, left, right, _numbers(generator, m, k).abs())


def dependent(generator: torch.Generator) -> Iterator[Verdict]:
    """A draw of blocks that overlap, from words of either end of their range."""
    dimension = choice(generator, 1, 4, 7)
    blocks = tuple(_block(generator, dimension) for _ in range(choice(generator, 1, 1, 2, 3)))
    law = BlockGaussian(_numbers(generator, dimension), blocks)
    client, theirs = client_of(law), stated_law(law)
    half = -(-client.normals // 2)
    radial = [word for _ in range(0, half, 20) for word in words(generator, LEAST_WORD)][:half]
    angular = [word for _ in range(0, half, 20) for word in words(generator, 0)][:half]
    pair = [np.array(own, dtype=np.uint64) for own in (radial, angular)]
    z = box_muller(*pair)[None, : client.normals]
    theta, _ = client.thetas(Draws(z, [0], np.array([True])))
    found = [
        (theta[0].tolist(), client.radius.tolist()),
        (theirs.draw(0, normals(*pair)[: client.normals]).tolist(), theirs.radius.tolist()),
    ]
    with precision(BITS):
        exact = exact_theta(law, exact_normals(np.concatenate(pair), generator)[: client.normals])
        for place, value in enumerate(exact):
            for program, (centre, radius) in zip(("fedcert", "checker"), found, strict=True):
                sound = bool(abs(value - arb(centre[place])) <= arb(radius[place]))
                useful = radius[place] < 1e-5 * max(map(abs, centre)) or radius[place] < 1e-300
                yield Verdict(sound, useful, f"{program}: parameter {place} of {law}")
