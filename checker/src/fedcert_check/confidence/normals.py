"""Standard normals from words, by Box and Muller's map, and how far they are from what they stand for."""

import numpy as np

from fedcert_check.validation import Array

NORMAL_ERROR = 2.0**-25  # of a standard normal, as it is computed from two words
LARGEST_NORMAL = 8.0  # more than √(72 log 2), the largest that is used
SMALLEST_WORD = 1 << 28  # of a radius: what lies farther out has a larger error, and is not used


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
