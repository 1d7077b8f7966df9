"""Random numbers of many kinds, most of them awkward for floating point."""

import math

import torch
from problems import normal, uniform
from torch import Tensor

STYLES = ("ordinary", "integers", "cancelling", "scaled", "tiny", "wild", "denormal")


def choice(generator: torch.Generator, *options):
    """One of the options, at random."""
    return options[int(torch.randint(len(options), (1,), generator=generator))]


def between(generator: torch.Generator, low: float, high: float) -> float:
    return low + (high - low) * uniform(generator, 1).item()


def numbers(generator: torch.Generator, style: str, *shape: int) -> Tensor:
    """Numbers of a style.

    Args:
        generator: the source of randomness.
        style: "integers" tie and are zero, "cancelling" ones come in pairs that leave an ulp, "scaled"
            and "tiny" ones share a magnitude, "wild" ones do not, "denormal" ones have few digits.
        shape: of the tensor.
    """
    z = normal(generator, *shape)
    match style:
        case "integers":
            return (2 * z).round()
        case "cancelling":
            z = z * 10 ** between(generator, 0, 17)
            pairs = torch.arange(shape[-1]) % 2 == 1
            opposite = -torch.nextafter(z.roll(1, -1), torch.full_like(z, math.inf))
            return torch.where(pairs, opposite, z)
        case "scaled":
            return z * 10 ** between(generator, -80, 80)
        case "tiny":
            return z * 10 ** between(generator, -300, -140)
        case "wild":
            return z.sign() * 10 ** (600 * uniform(generator, *shape) - 300)
        case "denormal":
            return (8 * z).round() * 2.0**-1074
        case _:
            return z


def anything(generator: torch.Generator, *shape: int) -> Tensor:
    """Numbers of a style drawn at random, every other time ordinary ones."""
    ordinary = between(generator, 0, 1) < 0.4
    return numbers(generator, "ordinary" if ordinary else choice(generator, *STYLES), *shape)


def widths(generator: torch.Generator, *shape: int) -> Tensor:
    """Non-negative half-widths: zero, about an ulp, or visible."""
    return choice(generator, 0.0, 0.0, 1e-16, 1e-9, 1e-2, 1.0) * uniform(generator, *shape)
