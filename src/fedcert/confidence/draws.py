"""Draws from the clients' laws: each is known up to a tiny box, and the box holds a draw of the exact law.

The words come from Philox 4x64-10, one stream for each draw and client, so that draws can be made in any
order. A uniform number is a word and infinitely many further digits that nobody looks at: u in
[k, k + 1) / 2^64. Box and Muller's map takes two of them to two independent standard normals, and what
floating point finds for the words alone differs from these by at most `CHARGE` (docs/soundness.md, 12).
"""

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws import GaussianMixture, Law, diagonal_components

Array = np.ndarray[Any, np.dtype[Any]]
CHARGE = 2.0**-25
"""The most by which a standard normal differs from what is computed of its words."""
MAX_DEVIATIONS = 8.0
"""More than the largest normal that is computed, sqrt(72 log 2) < 7.07."""
LEAST_WORD = 2**28
"""A draw with a smaller first word is lost: it lies too far out for the charge to hold."""
WORDS = 2**64
THREADED = 4096  # parameters of a network whose draws are worth a thread
RELATIVE = 2.0**-50  # more than the roundings of μ + σ z, and of the radius itself, are worth
TINY = 2.0**-1000  # more than what underflow may lose


@dataclass(frozen=True, eq=False)
class Client:
    """A client's law, ready to be drawn from.

    Attributes:
        loc: the means of the components, of shape (K, n_w).
        scale: their scales.
        first: the least word that chooses each component.
        last: the greatest word that does; a word between two components chooses none.
    """

    loc: Float64[Tensor, "K n_w"]
    scale: Float64[Tensor, "K n_w"]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @classmethod
    def of(cls, law: Law) -> "Client":
        """A Gaussian with independent parameters that is stated exactly, or a mixture of such.

        Args:
            law: the client's posterior.
        """
        components = diagonal_components(law)
        if any(part.loc_error is not None or part.scale_error for part in components):
            raise InvalidLaw("a law that is drawn from must be exact: this one carries a rounding error")
        first, last = words_of_components(weights_of(law))
        return cls(
            torch.stack([part.loc for part in components]),
            torch.stack([part.scale for part in components]),
            first,
            last,
        )

    def to(self, device: torch.device | str) -> "Client":
        """The same law on another device."""
        return Client(self.loc.to(device), self.scale.to(device), self.first, self.last)

    @property
    def reach(self) -> Float64[Tensor, "n_w"]:
        """A bound of the absolute value of each parameter that is computed."""
        return (self.loc.abs() + MAX_DEVIATIONS * self.scale).amax(0)

    @property
    def radius(self) -> Float64[Tensor, "n_w"]:
        """A bound of |θ − what is computed|, whatever the draw: the charge, and the roundings of μ + σ z."""
        charged = CHARGE * self.scale.amax(0) + RELATIVE * self.reach
        return charged * (1 + 2.0**-20) + TINY

    def thetas(self, draws: "Draws") -> tuple[Float64[Tensor, "B n_w"], Bool[Tensor, "B"]]:
        """The parameters of some draws, each to within `radius`; and which of them are that close.

        Args:
            draws: what the words of this client's streams say.
        """
        z = torch.from_numpy(draws.normals).to(self.loc.device)
        chosen = [self._component(word) for word in draws.choices]
        known = torch.tensor([k is not None for k in chosen]) & torch.from_numpy(draws.near)
        if len(self.first) == 1:
            return torch.addcmul(self.loc[0], self.scale[0], z), known
        own = torch.tensor([k or 0 for k in chosen], device=self.loc.device)
        return torch.addcmul(self.loc[own], self.scale[own], z), known

    def _component(self, word: int) -> int | None:
        for k, (first, last) in enumerate(zip(self.first, self.last, strict=True)):
            if first <= word <= last:
                return k
        return None


@dataclass(frozen=True, eq=False)
class Draws:
    """What the words of one client's streams say.

    Attributes:
        normals: standard normals, each to within `CHARGE`.
        choices: the word that chooses a component, for each draw.
        near: whether no normal of a draw lies too far out for the charge.
    """

    normals: Array
    choices: list[int]
    near: Array


def weights_of(law: Law) -> list[float]:
    """The weights of a law's components, not normalised."""
    if isinstance(law, GaussianMixture):
        return [float(weight) for weight in law.weights]
    if len(law.components) > 1:
        raise InvalidLaw(f"a {type(law).__name__} does not say how likely its components are")
    return [1.0]


def words_of_components(weights: Sequence[float]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The words k for which all of [k, k + 1) / 2^64 lies between two cumulated shares, exactly.

    Args:
        weights: positive numbers, one for each component.

    >>> words_of_components([1.0, 3.0]) == ((0, 2**62), (2**62 - 1, 2**64 - 1))
    True
    """
    exact = [Fraction(weight) for weight in weights]
    ends = [sum(exact[:k], Fraction(0)) * WORDS / sum(exact) for k in range(len(exact) + 1)]
    return tuple(map(math.ceil, ends[:-1])), tuple(math.floor(end) - 1 for end in ends[1:])


def box_muller(radial: Array, angular: Array) -> Array:
    """Two standard normals for each pair of words: √(−2 log u) cos 2πv and √(−2 log u) sin 2πv.

    Args:
        radial: the words of u.
        angular: the words of v.
    """
    distance = np.sqrt(-2.0 * np.log(np.maximum(radial, 1) * 2.0**-64))
    angle = angular * (2.0**-64 * 2 * math.pi)
    return np.concatenate([distance * np.cos(angle), distance * np.sin(angle)])


def draw_words(
    key: tuple[int, int], numbers: Sequence[int], client: int, dimension: int, workers: Executor
) -> Draws:
    """Make some draws of one client.

    Args:
        key: of the generator.
        numbers: of the draws.
        client: the client's place among the clients.
        dimension: n_w.
        workers: threads, since numpy computes without Python's lock.
    """
    pairs = -(-dimension // 2)
    own_key = np.array(key, dtype=np.uint64)  # a list of large numbers would become one of floats
    normals, near = np.empty((len(numbers), dimension)), np.empty(len(numbers), dtype=bool)

    def make(row: int) -> int:
        counter = np.array([0, numbers[row], client, 0], dtype=np.uint64)
        words = np.random.Philox(key=own_key, counter=counter).random_raw(1 + 2 * pairs)
        radial, angular = words[1 : 1 + pairs], words[1 + pairs :]
        normals[row] = box_muller(radial, angular)[:dimension]
        near[row] = radial.min() >= LEAST_WORD
        return int(words[0])

    apply = workers.map if dimension >= THREADED else map  # small draws take less time than their threads
    choices = list(apply(make, range(len(numbers))))
    return Draws(normals, choices, near)


def draw_all(
    clients: Sequence[Client], key: tuple[int, int], numbers: Sequence[int], workers: Executor
) -> tuple[list[Float64[Tensor, "B n_w"]], Bool[Tensor, "B"]]:
    """The parameters of every client in some draws; and which draws are known to within the radii.

    Args:
        clients: in the order of the rule's weights.
        key: of the generator.
        numbers: of the draws.
        workers: threads.
    """
    thetas, known = [], torch.ones(len(numbers), dtype=torch.bool)
    for place, client in enumerate(clients):
        words = draw_words(key, numbers, place, client.loc.shape[-1], workers)
        theta, close = client.thetas(words)
        thetas.append(theta)
        known &= close
    return thetas, known
