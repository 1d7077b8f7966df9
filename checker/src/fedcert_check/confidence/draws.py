"""Draws from the clients' laws, made again: Philox 4x64-10 under the seed, Box and Muller's map, the rule.

Each draw stands for a real one that lies within a radius (docs/soundness.md, 12): what the words leave open,
what the library's log, cos and sin may be off by, and the roundings. The radius is the same for all draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedcert_check.confidence.laws import DrawnLaw
from fedcert_check.confidence.normals import SMALLEST_WORD, normals
from fedcert_check.pooling import Pooling
from fedcert_check.rules import LinearRule, Rule, TrimmedMean
from fedcert_check.stated import StatedGaussian
from fedcert_check.validation import Array

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

    laws: Sequence[DrawnLaw]
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
            return Drawn(np.zeros(self.laws[0].dimension), False)
        return Drawn(*self._client(number, chosen[0]))

    def _words(self, number: int, stream: int, count: int) -> Array:
        key = np.array(self.key, dtype=np.uint64)  # a list of large numbers would become one of floats
        counter = np.array([0, number, stream, 0], dtype=np.uint64)
        words: Array = np.random.Philox(key=key, counter=counter).random_raw(count)
        return words

    def _client(self, number: int, client: int) -> tuple[Array, bool]:
        law = self.laws[client]
        half = (law.normals + 1) // 2
        words = self._words(number, client, 1 + 2 * half)
        choice = int(words[0])
        own = [k for k, (least, most) in enumerate(self.ends[client]) if least <= choice <= most]
        k = own[0] if own else 0
        z = normals(words[1 : 1 + half], words[1 + half :])[: law.normals]
        return law.draw(k, z), bool(own) and bool((words[1 : 1 + half] >= SMALLEST_WORD).all())

    def radius(self) -> Array:
        """A bound of |θ_g − centre|, for each parameter and whatever the draw."""
        sizes, radii = [law.size for law in self.laws], [law.radius for law in self.laws]
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
        return np.broadcast_to(bound, (self.laws[0].dimension,))


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
