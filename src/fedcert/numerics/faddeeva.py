"""The Faddeeva function on any device, by Weideman's rational approximation.

Weideman, SIAM Journal on Numerical Analysis 31 (1994): with Z = (L + iz)/(L − iz) and L² = N/√2,

    w(z) ≈ 2 p(Z) / (L − iz)² + π^-½ / (L − iz)    for Im z ≥ 0,

p a polynomial of degree N − 1 whose coefficients a Fourier transform gives; |Z| ≤ 1, so that Horner's rule is
stable. The tests compare it with a library and with ball arithmetic.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Complex128
from torch import Tensor

TERMS = 40  # N


def faddeeva(z: Complex128[Tensor, "*shape"]) -> Complex128[Tensor, "*shape"]:
    """w(z) = e^(−z²) erfc(−iz) for Im z ≥ 0, up to an absolute error of 1e-14.

    Args:
        z: with Im z ≥ 0.
    """
    first, *others = _coefficients()
    inverse = 1 / (_reach() - 1j * z)
    Z = (_reach() + 1j * z) * inverse
    p = torch.full_like(z, first)
    for coefficient in others:
        p = (p * Z).add_(coefficient)
    return 2 * p * inverse * inverse + inverse / math.sqrt(math.pi)


def _reach() -> float:
    """L."""
    return math.sqrt(TERMS / math.sqrt(2))


@lru_cache(maxsize=1)
def _coefficients() -> tuple[float, ...]:
    """The coefficients of p, highest first."""
    half = 2 * TERMS
    t = _reach() * np.tan(np.arange(-half + 1, half) * math.pi / (2 * half))
    values = np.concatenate([[0.0], np.exp(-t * t) * (_reach() ** 2 + t * t)])
    found = np.fft.fft(np.fft.fftshift(values)).real / (2 * half)
    return tuple(found[TERMS:0:-1].tolist())
