"""Masses of boxes under diagonal Gaussians and mixtures of them, in balls."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from flint import arb

from fedcert_check.balls import ONE, ZERO, Balls, exact, interval_mass, symmetric_mass
from fedcert_check.laws import Component, Law, diagonal
from fedcert_check.validation import Array

UNIT_BALL = arb(0, 1)
"""[−1, 1]."""


class Gaussian(NamedTuple):
    """N(loc, diag scale²), with balls for its parameters.

    Attributes:
        loc: μ, of shape (n_w,).
        scale: σ, positive or exactly 0.
    """

    loc: Balls
    scale: Balls

    @property
    def random(self) -> Array:
        """Which parameters are not fixed: σ > 0."""
        return np.array([not v == 0 for v in self.scale.tolist()], dtype=bool)  # noqa: SIM201


def gaussian(law: Component) -> Gaussian:
    """A law of independent parameters as balls; any other is refused.

    Those of a client's own law are exact, those of a sum hold every law it encloses.
    """
    own = diagonal(law)
    loc, scale = exact(own.loc), exact(own.scale)
    if own.loc_error is None:
        return Gaussian(loc, scale)
    return Gaussian(loc + exact(own.loc_error) * UNIT_BALL, scale * (1 + arb(own.scale_error) * UNIT_BALL))


def component_shares(law: Law) -> list[arb]:
    """π_k = weight_k / Σ_j weight_j, of a law's components."""
    weights = exact(law.weights).tolist()
    whole = sum(weights, ZERO)
    return [ONE] if len(weights) == 1 else [weight / whole for weight in weights]


def mixture_mass(law: Law, low: Array, high: Array) -> arb:
    """q([low, high]) = Σ_k π_k q_k([low, high])."""
    components: tuple[Component, ...] = law.components
    parts = zip(component_shares(law), components, strict=True)
    return sum((share * box_mass(gaussian(part), low, high) for share, part in parts), ZERO)


def box_mass(law: Gaussian, low: Array, high: Array) -> arb:
    """q([low, high]) = Π_d Pr(low_d ≤ θ_d ≤ high_d); a fixed parameter counts only strictly inside.

    So boxes that touch never count a fixed parameter twice (docs/soundness.md, section 5).
    """
    mass = ONE
    for a, b, mu, sigma in zip(exact(low), exact(high), law.loc, law.scale, strict=True):
        if sigma == 0:
            if not (a < mu and mu < b):
                return ZERO
            continue
        mass = mass * interval_mass((a - mu) / sigma, (b - mu) / sigma)
    return mass if mass > 0 else ZERO


def central_mass(radius: Array, laws: Sequence[Gaussian]) -> arb:
    """Π_i q_i([μ_i − r σ_i, μ_i + r σ_i]): erf(r_d/√2) for every parameter that is not fixed.

    Equal radii are one power.
    """
    times = np.sum([law.random for law in laws], axis=0)
    values, which = np.unique(radius, return_inverse=True)
    counts = np.bincount(which.reshape(-1), weights=times, minlength=len(values)).astype(int)
    mass = ONE
    for r, count in zip(exact(values).tolist(), counts.tolist(), strict=True):
        mass = mass * symmetric_mass(r) ** count if count else mass
    return mass
