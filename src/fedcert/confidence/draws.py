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

Array = np.ndarray[Any, np.dtype[Any]]
CHARGE = 2.0**-25
"""The most by which a standard normal differs from what is computed of its words."""
MAX_DEVIATIONS = 8.0
"""More than the largest normal that is computed, sqrt(72 log 2) < 7.07."""
LEAST_WORD = 2**28
"""A draw with a smaller first word is lost: it lies too far out for the charge to hold."""
WORDS = 2**64
THREADED = 4096  # normals of a draw that are worth a thread


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
    key: tuple[int, int], numbers: Sequence[int], client: int, count: int, workers: Executor
) -> Draws:
    """Make some draws of one client.

    Args:
        key: of the generator.
        numbers: of the draws.
        client: the client's place among the clients.
        count: Q, the number of normals of a draw.
        workers: threads, since numpy computes without Python's lock.
    """
    pairs = -(-count // 2)
    own_key = np.array(key, dtype=np.uint64)  # a list of large numbers would become one of floats
    normals, near = np.empty((len(numbers), count)), np.empty(len(numbers), dtype=bool)

    def make(row: int) -> int:
        counter = np.array([0, numbers[row], client, 0], dtype=np.uint64)
        words = np.random.Philox(key=own_key, counter=counter).random_raw(1 + 2 * pairs)
        radial, angular = words[1 : 1 + pairs], words[1 + pairs :]
        normals[row] = box_muller(radial, angular)[:count]
        near[row] = (radial >= LEAST_WORD).all()
        return int(words[0])

    apply = workers.map if count >= THREADED else map  # small draws take less time than their threads
    choices = list(apply(make, range(len(numbers))))
    return Draws(normals, choices, near)
