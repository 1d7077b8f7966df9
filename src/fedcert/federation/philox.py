"""Philox 4x64-10: random words that are a function of a key and a counter, the same on every device.

Salmon et al., *Parallel random numbers: as easy as 1, 2, 3* (2011). On a processor numpy computes them; on
another device whole tensors of counters go through the ten rounds.
"""

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

WORDS = 4  # words of 64 bits that one counter gives
ROUNDS = 10
MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
KEY_STEPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
LOW = 0xFFFFFFFF


def random_words(
    key: tuple[int, int], stream: int, first: int, count: int, device: torch.device | str = "cpu"
) -> Int64[Tensor, "count 4"]:
    """The words of the counters (c, stream, 0, 0) for c = first, …, first + count − 1.

    Args:
        key: of the generator: two words.
        stream: the second word of the counters.
        first: the first word of the first counter, at least 1.
        count: how many counters; first + count is less than 2^63.
        device: where the words are made.
    """
    if torch.device(device).type == "cpu":
        before = np.array([first - 1, stream, 0, 0], dtype=np.uint64)  # numpy counts up before it draws
        bits = np.random.Philox(key=np.array(key, dtype=np.uint64), counter=before)
        return torch.from_numpy(bits.random_raw(count * WORDS).view(np.int64)).view(count, WORDS)
    return torch.stack(ten_rounds(key, stream, torch.arange(first, first + count, device=device)), -1)


def ten_rounds(key: tuple[int, int], stream: int, counters: Int64[Tensor, "count"]) -> list[Tensor]:
    """The four words of every counter (c, stream, 0, 0), in arithmetic modulo 2^64.

    Args:
        key: two words.
        stream: the second word of the counters.
        counters: c, the first word of each.
    """
    zero = torch.zeros_like(counters)
    a, b, c, d = counters, zero + stream, zero, zero
    for number in range(ROUNDS):
        one, other = (_signed(own + number * step) for own, step in zip(key, KEY_STEPS, strict=True))
        (high, low), (high_c, low_c) = _product(MULTIPLIERS[0], a), _product(MULTIPLIERS[1], c)
        a, b, c, d = high_c ^ b ^ one, low_c, high ^ d ^ other, low
    return [a, b, c, d]


def _product(factor: int, x: Int64[Tensor, "count"]) -> tuple[Tensor, Tensor]:
    """The high and the low word of a product of two words without sign, from halves of 32 bits."""
    high, low = factor >> 32, factor & LOW
    x_high, x_low = _upper_half(x), x & LOW
    middle = x_low * high + _upper_half(x_low * low)
    upper = x_high * high + _upper_half(middle) + _upper_half(x_high * low + (middle & LOW))
    return upper, x * _signed(factor)


def _upper_half(x: Int64[Tensor, "count"]) -> Int64[Tensor, "count"]:
    return (x >> 32) & LOW


def _signed(word: int) -> int:
    """The word as torch's integers hold it: modulo 2^64, in [−2^63, 2^63)."""
    return (word + 2**63) % 2**64 - 2**63
