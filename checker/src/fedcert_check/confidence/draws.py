"""Draws from the clients' laws, made again: Philox 4x64-10 under the seed, Box and Muller's map, the rule.

Each draw stands for a real one that lies within a radius (docs/soundness.md, 12): what the words leave open,
what the library's log, cos and sin may be off by, and the roundings. The radius is the same for all draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedcert_check.confidence.laws import Mixture
from fedcert_check.pooling import Pooling
from fedcert_check.rules import LinearRule, Rule, TrimmedMean
from fedcert_check.stated import StatedGaussian
from fedcert_check.validation import Array

NORMAL_ERROR = 2.0**-25  # of a standard normal, as it is computed from two words
LARGEST_NORMAL = 8.0  # more than √(72 log 2), the largest that is used
SMALLEST_WORD = 1 << 28  # of a radius: what lies farther out has a larger error, and is not used
ROUNDING = 2.0**-50  # more than the roundings of μ + σ z, relatively
UPWARD = 1 + 2.0**-20
UNDERFLOW = 2.0**-1000
UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Drawn:
    """The parameters of one deployed network.

    Attributes:
        centre: of shape (n_w,).
        known: whether the real parameters are within the radius of the centre.
    """

    centre: Array
    known: bool


class Sampler(NamedTuple):
    """What draws are made from.

    Attributes:
        laws: of the clients, in the order of the rule's weights.
        ends: the words that choose each component, for each client; under pooling also those that choose
            each client.
        rule: A.
        key: of the generator.
    """

    laws: Sequence[Mixture]
    ends: Sequence[Sequence[tuple[int, int]]]
    rule: Rule
    key: tuple[int, int]

    def draw(self, number: int) -> Drawn:
        """One draw of the whole pipeline.

        Args:
            number: of the draw, from 0 on.
        """
        if isinstance(self.rule, Pooling):
            return self._pooled(self.rule, number)
        if isinstance(self.rule, StatedGaussian):
            self.rule.refuse()
        thetas, known = [], True
        for client in range(len(self.laws)):
            theta, close = self._client(number, client)
            thetas.append(theta)
            known = known and close
        return Drawn(_aggregate(self.rule, thetas), known)

    def _pooled(self, rule: Pooling, number: int) -> Drawn:
        """One client's draw; a stream of its own, after those of all clients, chooses the client."""
        word = int(self._words(number, rule.clients, 1)[0])
        shares = enumerate(self.ends[rule.clients])
        chosen = [i for i, (least, most) in shares if least <= word <= most]
        if not chosen:
            return Drawn(self.laws[0].loc[0], False)
        return Drawn(*self._client(number, chosen[0]))

    def _words(self, number: int, stream: int, count: int) -> Array:
        key = np.array(self.key, dtype=np.uint64)  # a list of large numbers would become one of floats
        counter = np.array([0, number, stream, 0], dtype=np.uint64)
        words: Array = np.random.Philox(key=key, counter=counter).random_raw(count)
        return words

    def _client(self, number: int, client: int) -> tuple[Array, bool]:
        law = self.laws[client]
        count = law.loc.shape[1]
        half = (count + 1) // 2
        words = self._words(number, client, 1 + 2 * half)
        choice = int(words[0])
        own = [k for k, (least, most) in enumerate(self.ends[client]) if least <= choice <= most]
        k = own[0] if own else 0
        theta = law.loc[k] + law.scale[k] * normals(words[1 : 1 + half], words[1 + half :])[:count]
        return theta, bool(own) and bool((words[1 : 1 + half] >= SMALLEST_WORD).all())

    def radius(self) -> Array:
        """A bound of |θ_g − centre|, for each parameter and whatever the draw."""
        sizes = [(abs(law.loc) + LARGEST_NORMAL * law.scale).max(0) for law in self.laws]
        radii = [
            NORMAL_ERROR * law.scale.max(0) + ROUNDING * size + UNDERFLOW
            for law, size in zip(self.laws, sizes, strict=True)
        ]
        relative = 4 * (len(self.laws) + 4) * UNIT
        match self.rule:
            case LinearRule():
                weights = abs(self.rule.weights)
                offset = 0.0 if self.rule.offset is None else abs(self.rule.offset)
                spread = sum(w * r for w, r in zip(weights, radii, strict=True))
                size = offset + sum(w * s for w, s in zip(weights, sizes, strict=True))
            case _:  # each order statistic moves by no more than the client that moves most, as a draw does
                spread, size = np.max(radii, axis=0), np.max(sizes, axis=0)
        bound: Array = (spread + relative * size) * UPWARD + UNDERFLOW
        return np.broadcast_to(bound, self.laws[0].loc.shape[1:])


def normals(first: Array, second: Array) -> Array:
    """Standard normals, two for each pair of words: first all cosines, then all sines.

    Args:
        first: words k of the distance, for u in [k, k + 1) / 2^64; 0 is taken for 1.
        second: words of the angle.
    """
    u = np.maximum(first, 1).astype(np.float64) / 2.0**64
    turn = second.astype(np.float64) / 2.0**64
    distance = np.sqrt(np.log(u) * -2.0)
    angle = turn * (2 * np.pi)
    return np.concatenate((np.cos(angle) * distance, np.sin(angle) * distance))


def _aggregate(rule: LinearRule | TrimmedMean, thetas: Sequence[Array]) -> Array:
    """A(θ_1, …, θ_n), in floating point."""
    if isinstance(rule, LinearRule):
        total: Array = np.zeros_like(thetas[0]) if rule.offset is None else rule.offset
        for weight, theta in zip(rule.weights, thetas, strict=True):
            total = total + weight * theta
        return total
    kept = np.sort(np.stack(thetas), axis=0)[rule.trim : rule.clients - rule.trim]
    mean: Array = kept.sum(axis=0) / len(kept)
    return mean
