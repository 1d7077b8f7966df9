"""Masses of boxes under diagonal Gaussians, in balls."""

from typing import NamedTuple

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, exact, interval_mass, symmetric_mass
from fedcert_check.laws import DiagonalGaussian
from fedcert_check.validation import Array


class Gaussian(NamedTuple):
    """N(loc, diag scale²), with balls for its parameters.

    Attributes:
        loc: μ, of shape (n_w,).
        scale: σ > 0.
    """

    loc: Balls
    scale: Balls


def gaussian(law: DiagonalGaussian) -> Gaussian:
    """A client's law, which its message states exactly."""
    return Gaussian(exact(law.loc), exact(law.scale))


def box_mass(law: Gaussian, low: Array, high: Array) -> arb:
    """q([low, high]) = Π_d Pr(low_d ≤ θ_d ≤ high_d)."""
    a = (exact(low) - law.loc) / law.scale
    b = (exact(high) - law.loc) / law.scale
    mass = ONE
    for below, above in zip(a.tolist(), b.tolist(), strict=True):
        mass = mass * interval_mass(below, above)
    return mass if mass > 0 else ZERO


def central_mass(radius: Array) -> arb:
    """q([μ − r σ, μ + r σ]) = Π_d erf(r_d/√2), whatever the diagonal Gaussian; equal radii are one power."""
    values, counts = np.unique(radius, return_counts=True)
    mass = ONE
    for r, count in zip(exact(values).tolist(), counts.tolist(), strict=True):
        mass = mass * symmetric_mass(r) ** count
    return mass
