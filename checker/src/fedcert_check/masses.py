"""Masses of boxes under diagonal Gaussians, in ball arithmetic."""

from typing import NamedTuple

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, exact, interval_mass, symmetric_mass
from fedcert_check.document import Array, Client


class Law(NamedTuple):
    """N(loc, diag scale²), with balls for its parameters."""

    loc: Balls
    scale: Balls


def law_of(client: Client) -> Law:
    """A client's law, which its message states exactly."""
    return Law(exact(client.loc), exact(client.scale))


def box_mass(law: Law, low: Array, high: Array) -> arb:
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
