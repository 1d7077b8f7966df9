"""Standard normals of 65,536 values that are a function of a key and a counter: for estimates only."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float32
from scipy.special import ndtri
from torch import Tensor

from fedcert.federation.philox import WORDS, random_words

LEVELS = 2**16
NORMALS = 4 * WORDS  # normals that one counter gives: sixteen bits choose each


@dataclass(frozen=True)
class CountedNormals:
    """Draws from 65,536 equally likely quantiles of N(0, 1), which have a deviation of 0.99999.

    Draw n of a stream is the same whichever others are made with it, and on every device. What sums up
    thousands of these normals cannot tell the difference; the tails end at 4.3 deviations, so nothing that is
    proven may rely on them.

    Attributes:
        key: two words; other keys give independent normals.
        dimension: how many normals make a draw.
    """

    key: tuple[int, int]
    dimension: int

    def __call__(
        self, stream: int, first: int, count: int, device: torch.device | str = "cpu"
    ) -> Float32[Tensor, "count dimension"]:
        """Draws first, …, first + count − 1 of a stream.

        Args:
            stream: other streams are independent.
            first: the number of the first draw.
            count: how many draws.
            device: where they are made.
        """
        counters = -(-self.dimension // NORMALS)
        words = random_words(self.key, stream, 1 + first * counters, count * counters, device)
        words, table = words.view(count, -1), quantiles(words.device)
        drawn = torch.empty(count, self.dimension, device=device)
        at_a_time = 1 if words.device.type == "cpu" else max(1, count)  # a cache holds what is between
        for own, found in zip(words.split(at_a_time), drawn.split(at_a_time), strict=True):
            bits = own.view(torch.int16)[:, : self.dimension].int()
            torch.index_select(table, 0, bits.bitwise_and_(LEVELS - 1).flatten(), out=found.view(-1))
        return drawn


@lru_cache(maxsize=2)
def quantiles(device: torch.device) -> Float32[Tensor, "levels"]:
    """The quantiles of N(0, 1) at (k + ½) / 65,536.

    Args:
        device: where they are kept.
    """
    return torch.from_numpy(ndtri((np.arange(LEVELS) + 0.5) / LEVELS)).to(device, torch.float32)
