"""Draws in ball arithmetic, from the words and further digits: what both programs must enclose."""

from collections.abc import Sequence

import numpy as np
import torch
from block_cases import exact_matrix, exact_noise
from flint import arb, fmpq
from fuzz.balls import balls

from fedcert.laws import BlockGaussian, GaussianLaw
from fedcert.rules import AggregationRule, LinearRule

BITS = 400
Key = tuple[int, int]


def exact_normals(words: np.ndarray, generator: torch.Generator) -> list[arb]:
    """√(−2 log u) cos 2πv, then the sines, for words of u and then of v with digits drawn at random."""
    digits = torch.randint(2**40, (len(words),), generator=generator).tolist()
    exact = [(int(word) + fmpq(own, 2**40)) / 2**64 for word, own in zip(words, digits, strict=True)]
    half = len(exact) // 2
    distance = [(-2 * arb(u).log()).sqrt() for u in exact[:half]]
    angle = [2 * arb(v) for v in exact[half:]]
    cosines = [r * v.cos_pi() for r, v in zip(distance, angle, strict=True)]
    return cosines + [r * v.sin_pi() for r, v in zip(distance, angle, strict=True)]


def exact_theta(law: GaussianLaw, z: list[arb]) -> list[arb]:
    """The sum μ + Σ_t T_t z_t; each block takes the normals that follow those of the block before."""
    own = BlockGaussian.of(law)
    theta, used = balls(own.loc), 0
    for block in own.blocks:
        noise = exact_noise(exact_matrix(block), z[used : used + block.columns])
        used += block.columns
        for place, value in enumerate(noise, block.start):
            theta[place] = theta[place] + value
    return theta


def exact_draw(law: GaussianLaw, key: Key, number: int, client: int, generator: torch.Generator) -> list[arb]:
    """A client's draw, from the words of its stream."""
    count = sum(block.columns for block in BlockGaussian.of(law).blocks)
    counter = np.array([0, number, client, 0], dtype=np.uint64)
    philox = np.random.Philox(key=np.array(key, dtype=np.uint64), counter=counter)
    words = philox.random_raw(1 + 2 * -(-count // 2))
    return exact_theta(law, exact_normals(words[1:], generator))


def exact_deployed(rule: AggregationRule, thetas: Sequence[list[arb]]) -> list[arb]:
    """The weighted sums, or medians, of three clients' draws."""
    if isinstance(rule, LinearRule):
        weights = [arb(w) for w in rule.weights[:, 0].tolist()]
        return [
            sum((w * v for w, v in zip(weights, own, strict=True)), arb(0))
            for own in zip(*thetas, strict=True)
        ]
    return [max(min(a, b), min(max(a, b), c)) for a, b, c in zip(*thetas, strict=True)]
