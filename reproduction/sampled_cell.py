"""The mass of one cell of the paper: a box of half-width γσ around a draw from the posterior.

In units of σ the draw is s ~ N(0, 1) in each of n_w independent coordinates, and the box has the mass
Π_d [Φ(γ − s_d) − Φ(−γ − s_d)]. The tail of a coordinate, t(s) = Φ(s − γ) + Φ(−γ − s), has the mean
Pr(|N(0, 2)| > γ) = erfc(γ/2), so the expected mass is (1 − erfc(γ/2))^n_w exactly.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from scipy.integrate import quad
from scipy.special import ndtr


def weights_of(sizes: Sequence[int]) -> int:
    """n_w: how many parameters a fully connected network has.

    Args:
        sizes: units of each layer, from input to output.

    >>> weights_of([784, 64, 10]), weights_of([784, 128, 10]), weights_of([784, 64, 64, 10])
    (50890, 101770, 55050)
    """
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def expected_mass(gamma: float, n_w: int) -> float:
    """E mass = (1 − erfc(γ/2))^n_w.

    Args:
        gamma: half-width of the box, in deviations.
        n_w: number of coordinates.

    >>> round(expected_mass(7.0, 50_890), 4), round(expected_mass(7.0, 101_770), 4)
    (0.9629, 0.9272)
    """
    return math.exp(n_w * math.log1p(-math.erfc(gamma / 2)))


def deviation_of_mass(gamma: float, n_w: int) -> float:
    """The standard deviation of the mass over draws of the centre.

    With m = E(1 − t) and v = Var t, E mass² = (m² + v)^n_w, so that the variance is
    (E mass)² · (e^x − 1) = (E mass)² e^x · (1 − e^−x) with x = n_w log(1 + v/m²), which may be large.

    Args:
        gamma: half-width of the box, in deviations.
        n_w: number of coordinates.
    """
    tail = math.erfc(gamma / 2)
    variance = second_moment_of_tail(gamma) - tail**2
    x = n_w * math.log1p(variance / (1 - tail) ** 2)
    return math.exp(n_w * math.log1p(-tail) + x / 2) * math.sqrt(-math.expm1(-x))


def second_moment_of_tail(gamma: float) -> float:
    """E t(s)² for s ~ N(0, 1), by quadrature; both signs of s contribute the same.

    Args:
        gamma: half-width of the box, in deviations.
    """

    def integrand(s: float) -> float:
        tail = float(ndtr(s - gamma) + ndtr(-gamma - s))
        return tail**2 * math.exp(-(s**2) / 2) / math.sqrt(2 * math.pi)

    peak = 2 * gamma / 3  # where φ(s) Φ(s − γ)² is largest, nearly
    parts = [quad(integrand, a, b, epsabs=0)[0] for a, b in pairwise((0, peak, gamma, gamma + 10))]
    return 2 * math.fsum(parts)
