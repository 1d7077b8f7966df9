"""The mass that the lattice of a federation counts."""

import math
from collections.abc import Sequence

from torch import Tensor

from fedcert.families.mean_box.lattice import Lattice
from fedcert.laws import DiagonalGaussian
from fedcert.rules import LinearMap


def lattice_log_mass(rule: LinearMap, laws: Sequence[DiagonalGaussian], radius: Tensor) -> float:
    """The bound of `Lattice.log_mass`; −inf where there is nothing to count."""
    lattice = Lattice.of(rule, laws, rule.pushforward(laws))
    return -math.inf if lattice is None else lattice.log_mass(radius)
