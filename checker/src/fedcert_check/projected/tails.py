"""Sums of the clients' Gaussian projections (docs/soundness.md, 10.3), in balls.

Pr(Σ_i P_i ≤ −g) for independent P_i ~ N(0, s_i²): by the law of the sum, by one slab for each client, or by
cells of the clients' projections, whose tuples are counted by multiplying polynomials.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import arb, arb_poly

from fedcert_check.balls import ONE, ZERO, float_up, interval_mass, tail
from fedcert_check.projected.layers import largest, square_root

COVERED_DEVIATIONS = 8  # of a projection, by the cells on either side
MIN_COUNTED_TAIL = 1e-10  # a tail that is known to be smaller is not worth counting
MAX_COUNTED_CLIENTS = 32
MAX_CELLS = 2**14  # of each client


@dataclass(frozen=True)
class Projections:
    """How a sum of projections is bounded.

    Attributes:
        cells: 0 for the law of the sum, 1 for a slab for each client, more for cells.
    """

    cells: int

    def step(self, deviations: Sequence[arb]) -> arb:
        """Δ, the width of a cell, an exact number."""
        return (2 * COVERED_DEVIATIONS * largest(*deviations) / max(1, self.cells - 2)).upper()

    def width(self, kappa: arb, deviations: Sequence[arb]) -> arb:
        """A g for which Pr(Σ_i P_i ≤ −g) ≤ price(κ)."""
        if self.cells == 1:
            return kappa * sum(deviations, ZERO)
        lost = len(deviations) * self.step(deviations) if self.cells else ZERO
        return kappa * total(deviations) + lost

    def price(self, kappa: arb, clients: int) -> arb:
        """What `width` costs."""
        if self.cells == 1:
            return clients * tail(kappa)
        return tail(kappa) + (self._outside(clients) if self.cells else ZERO)

    def tail(self, g: arb, deviations: Sequence[arb], step: arb) -> arb:
        """An upper bound of Pr(Σ_i P_i ≤ −g).

        Args:
            g: the distance.
            deviations: s_i, or upper bounds of them.
            step: Δ of the cells, any exact number > 0; unused where there are no cells.
        """
        clients = len(deviations)
        if not g > 0:
            return ONE
        if self.cells == 0:
            return _beyond(g, total(deviations))
        if self.cells == 1:
            return clients * _beyond(g, sum(deviations, ZERO))
        if not step > 0:
            return ONE
        rest = g - clients * step
        bound = _beyond(rest, total(deviations)) + self._outside(clients)
        if clients > MAX_COUNTED_CLIENTS or bound < MIN_COUNTED_TAIL or not self._few_cells(deviations, step):
            return bound
        return min(bound.upper(), self._count(g, deviations, step).upper())

    def _few_cells(self, deviations: Sequence[arb], step: arb) -> bool:
        """Whether a step asks for hardly more cells than the widest projection is to be cut into."""
        return bool(2 * COVERED_DEVIATIONS * largest(*deviations) < (self.cells + 2) * step)

    def _outside(self, clients: int) -> arb:
        """The mass below all cells, n Q(COVERED_DEVIATIONS)."""
        return clients * tail(arb(COVERED_DEVIATIONS))

    def _count(self, g: arb, deviations: Sequence[arb], step: arb) -> arb:
        """1 − Σ over tuples with (Σ_i k_i) Δ ≥ −g of Π_i p_{i,k_i}."""
        sums, lowest = arb_poly([1]), 0
        for s in deviations:
            if s == 0:  # always in the cell [0, Δ)
                continue
            first = math.ceil(float_up(COVERED_DEVIATIONS * s / step)) + 1
            edges = [k * step / s for k in range(-first, first + 1)]
            masses = [interval_mass(a, b) for a, b in pairwise(edges)]
            sums = sums * arb_poly([*masses, tail(edges[-1])])
            lowest -= first
        return ONE - sum((p for k, p in enumerate(sums.coeffs(), start=lowest) if k * step + g >= 0), ZERO)


def _beyond(g: arb, s: arb) -> arb:
    """Pr(s Z ≤ −g): Q(g/s), and 0 or 1 where nothing is random."""
    if s == 0:
        return ZERO if g > 0 else ONE
    return tail(g / s)


def total(deviations: Sequence[arb]) -> arb:
    """√Σ_i s_i²."""
    return square_root(sum((s * s for s in deviations), ZERO))
