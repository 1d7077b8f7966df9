"""Bounds of a sum of the clients' Gaussian projections: by one slab per client, by cells, or in the limit.

A projection of the deployed noise is a sum Σ_i P_i of one projection per client, independent normals of
deviation s_i. Pr(Σ_i P_i ≤ −g) is bounded

- by product events {P_i > −κ s_i for all i}, κ = g / Σ_i s_i: only one event is used per client;
- by cells: each client's projection is cut into cells [kΔ, (k + 1)Δ); the tuples of cells whose lower
  ends add up to −g or more are disjoint events inside {Σ P_i ≥ −g}, and a convolution counts them all;
- in the limit of ever finer cells, by the law of the sum, N(0, Σ_i s_i²).
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.gaussian import log_mass_lower, tail
from fedcert.numerics.rounding import above, down, exp_down, gamma, up

REACH = 8.0  # how far the cells reach on either side of 0, in deviations of a projection
MOST_COUNTED = 32  # maximum number of clients whose tuples are counted; with more, they are bounded


@runtime_checkable
class Projections(Protocol):
    """A way to bound sums of the clients' projections."""

    @property
    def cells(self) -> int:
        """The number of cells of each client's projection; 0 for no cells, which means the law of the sum."""
        ...

    def step(self, deviations: Float64[Tensor, "*rows n"]) -> Float64[Tensor, "*rows"]:
        """Δ, the width of a cell; 0 if there are no cells."""
        ...

    def tail(
        self, g: Float64[Tensor, "*rows"], deviations: Float64[Tensor, "*rows n"]
    ) -> Float64[Tensor, "*rows"]:
        """An upper bound of Pr(Σ_i P_i ≤ −g), 1 for g ≤ 0."""
        ...

    def width(
        self, kappa: Float64[Tensor, "*#rows"], deviations: Float64[Tensor, "*rows n"]
    ) -> Float64[Tensor, "*rows"]:
        """A g for which Pr(Σ_i P_i ≤ −g) is at most `price(κ)`."""
        ...

    def price(self, kappa: Float64[Tensor, "*rows"], clients: int) -> Float64[Tensor, "*rows"]:
        """The probability that `width` costs."""
        ...


def total(deviations: Float64[Tensor, "*rows n"]) -> Float64[Tensor, "*rows"]:
    """√Σ_i s_i², rounded up."""
    return up(above((deviations * deviations).sum(-1), deviations.shape[-1] + 2).sqrt())


def _one_sided(z: Enclosure) -> Enclosure:
    """Q(z), but 1 where z is not known to be positive: deviations are bounded only from above."""
    return tail(z).where(z > 0, 1.0)


@dataclass(frozen=True)
class Limit:
    """The law of the sum."""

    @property
    def cells(self) -> int:
        """No cells."""
        return 0

    def step(self, deviations: Float64[Tensor, "*rows n"]) -> Float64[Tensor, "*rows"]:
        """No cells."""
        return torch.zeros_like(deviations[..., 0])

    def tail(
        self, g: Float64[Tensor, "*rows"], deviations: Float64[Tensor, "*rows n"]
    ) -> Float64[Tensor, "*rows"]:
        """Q(g / s)."""
        return _one_sided(Enclosure.exactly(g) / total(deviations)).upper

    def width(
        self, kappa: Float64[Tensor, "*#rows"], deviations: Float64[Tensor, "*rows n"]
    ) -> Float64[Tensor, "*rows"]:
        """κ s."""
        return (Enclosure.exactly(kappa) * total(deviations)).upper

    def price(self, kappa: Float64[Tensor, "*rows"], clients: int) -> Float64[Tensor, "*rows"]:
        """Q(κ)."""
        return _one_sided(Enclosure.exactly(kappa)).upper


@dataclass(frozen=True)
class Product:
    """One slab per client: widths add up linearly, √n times too wide for equal clients."""

    @property
    def cells(self) -> int:
        """One."""
        return 1

    def step(self, deviations: Float64[Tensor, "*rows n"]) -> Float64[Tensor, "*rows"]:
        """0: the slabs have no common width."""
        return torch.zeros_like(deviations[..., 0])

    def tail(
        self, g: Float64[Tensor, "*rows"], deviations: Float64[Tensor, "*rows n"]
    ) -> Float64[Tensor, "*rows"]:
        """N Q(g / Σ_i s_i)."""
        return self._all(Enclosure.exactly(g) / self._sum(deviations), deviations.shape[-1])

    def width(
        self, kappa: Float64[Tensor, "*#rows"], deviations: Float64[Tensor, "*rows n"]
    ) -> Float64[Tensor, "*rows"]:
        """κ Σ_i s_i."""
        return (Enclosure.exactly(kappa) * self._sum(deviations)).upper

    def price(self, kappa: Float64[Tensor, "*rows"], clients: int) -> Float64[Tensor, "*rows"]:
        """N Q(κ)."""
        return self._all(Enclosure.exactly(kappa), clients)

    def _all(self, z: Enclosure, clients: int) -> Float64[Tensor, "*rows"]:
        """An upper bound of the probability that some client leaves its slab."""
        return (clients * _one_sided(z)).upper.clamp(max=1.0)

    def _sum(self, deviations: Float64[Tensor, "*rows n"]) -> Enclosure:
        return Enclosure.exactly(deviations).sum().clamp(least=0.0)


@dataclass(frozen=True)
class Cells:
    """At most K cells per client: tuples of cells are counted by convolution.

    The cells of a client cover its projection from −REACH s_i upwards, with the same step Δ for all clients;
    the last cell is unbounded. Every sum lies within nΔ above that of its cells' lower ends.

    Attributes:
        cells: K, the maximum number of cells per client.
        counted_from: tails below this are small enough without counting.
    """

    cells: int = 512
    counted_from: float = 1e-9

    def step(self, deviations: Float64[Tensor, "*rows n"]) -> Float64[Tensor, "*rows"]:
        """Δ, so wide that K cells reach REACH deviations on both sides of the widest projection."""
        return up(2 * REACH * deviations.amax(-1) / max(1, self.cells - 2))

    def tail(
        self, g: Float64[Tensor, "*rows"], deviations: Float64[Tensor, "*rows n"]
    ) -> Float64[Tensor, "*rows"]:
        """One minus the mass of the tuples whose lower ends add up to −g or more, or a bound of that."""
        clients = deviations.shape[-1]
        few = clients <= MOST_COUNTED
        rest = g - clients * Enclosure.exactly(self.step(deviations))
        bound = (_one_sided(rest / total(deviations)) + self._outside(clients)).upper
        worth = (bound > self.counted_from) & (g > 0) & deviations.isfinite().all(-1) & few
        for row in worth.nonzero():
            index = tuple(row.tolist())
            counted = self._count(g[index].item(), deviations[index])
            bound[index] = min(bound[index].item(), counted)
        return bound.clamp(max=1.0)

    def width(
        self, kappa: Float64[Tensor, "*#rows"], deviations: Float64[Tensor, "*rows n"]
    ) -> Float64[Tensor, "*rows"]:
        """κ s + n Δ."""
        lost = deviations.shape[-1] * Enclosure.exactly(self.step(deviations))
        return (Enclosure.exactly(kappa) * total(deviations) + lost).upper

    def price(self, kappa: Float64[Tensor, "*rows"], clients: int) -> Float64[Tensor, "*rows"]:
        """Q(κ) plus the mass that no cell covers."""
        return (_one_sided(Enclosure.exactly(kappa)) + self._outside(clients)).upper

    def _outside(self, clients: int) -> Enclosure:
        """N Q(REACH): the mass below all cells."""
        return clients * tail(Enclosure.exactly(REACH))

    def _count(self, g: float, deviations: Float64[Tensor, "n"]) -> float:
        """1 − Σ over tuples with (Σ_i k_i) Δ ≥ −g of Π_i p_{i,k_i}, masses rounded down, for one row."""
        step = self.step(deviations)
        sums = torch.ones(1, dtype=torch.float64)
        lowest = 0
        for s in deviations.cpu():
            first = int(torch.ceil(REACH * s / step.cpu()).item())
            edges = torch.arange(-first, first + 1, dtype=torch.float64) * step.cpu()
            # a cell [a, b) in standard units, shrunk by the possible rounding errors of its ends
            a = edges / s
            lower = a + 4 * 2.0**-53 * a.abs()
            upper = torch.cat([(a - 4 * 2.0**-53 * a.abs())[1:], torch.full((1,), torch.inf, dtype=a.dtype)])
            masses = exp_down(log_mass_lower(lower, upper.maximum(lower)))
            sums = _convolve_down(sums, masses)
            lowest -= first
        ends = torch.arange(lowest, lowest + len(sums), dtype=torch.float64)
        reached = down(ends * step.cpu()) >= -g
        counted = sums[reached].sum() * (1 - gamma(2 * len(sums)))
        return (1 - Enclosure.between(down(counted), 1.0)).upper.clamp(0.0, 1.0).item()


def _convolve_down(a: Float64[Tensor, "A"], b: Float64[Tensor, "B"]) -> Float64[Tensor, "A_plus_B_minus_1"]:
    """The convolution of two histograms, rounded down: all terms are non-negative."""
    found = torch.from_numpy(np.convolve(a.numpy(), b.numpy()))
    return (found * (1 - gamma(2 * len(b) + 4))).clamp(min=0.0)
