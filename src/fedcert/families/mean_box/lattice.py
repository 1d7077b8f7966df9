"""Tuples of lattice cells, counted by convolution: transport without the loss of one box per client.

Cut every coordinate of every client into cells of equal width h in the aggregate, w_i σ_i,d t_i,d = h_d. In
each coordinate the tuple (j_1, …, j_n) of cells is mapped into [J h, (J + n) h] around the mean, J = Σ j_i.
All tuples whose image stays inside one verified box are proven by the proof for that box. Their number is
astronomical, but coordinates are independent and within one the sum J is a convolution of n histograms:

    mass = Π_d Pr(−m < J_d ≤ m − 1 − n),   m h_d = the room between mean and face of the verified box.

As m grows, this increases to the mass of the verified box under the deployed law. The inequalities leave out
one cell at either end, which is more room than all roundings of the lattice need.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.laws import DiagonalLaw
from fedcert.numerics.gaussian import log_mass_lower
from fedcert.numerics.rounding import UNIT_ROUNDOFF, down, exp_down, gamma, log_down, sum_down
from fedcert.rules import LinearMap

MAX_CLIENTS = 32  # maximum number of clients: with more, histograms become too long
CELLS = 32  # m / n: number of lattice cells between mean and face, for each client
LEVELS = 64  # radii are rounded down to multiples of 1/64 deviation
WIDEST = 8.5  # how far a histogram reaches on either side of the mean, in deviations
MAX_RATIOS = 16  # maximum number of different ratios of the clients' deviations, one convolution each
RATIO_DIGITS = 6  # number of decimals that ratios are rounded to
LOPSIDED = 1.1  # sum of the ratios up to which one client nearly dominates the others


@dataclass(frozen=True)
class Lattice:
    """The lattice cells of a federation under a linear rule.

    Attributes:
        kinds: the different ratios of the clients' deviations to the deployed one, rounded.
        kind: which of them each parameter has; −1 for a fixed one, which is always in the box.
    """

    kinds: Float64[Tensor, "kinds n"]
    kind: Int64[Tensor, "n_w"]

    @classmethod
    def of(cls, rule: LinearMap, laws: Sequence[DiagonalLaw], deployed: DiagonalLaw) -> "Lattice | None":
        """The lattice; None if there are too many clients or too many different scales to count.

        Parameters that no client leaves open need none; where only some do, there is no lattice.

        Args:
            rule: a linear rule.
            laws: the clients' posteriors.
            deployed: the law that the rule makes of them.
        """
        if len(laws) > MAX_CLIENTS:
            return None
        scales = [w.abs() * law.scale for w, law in zip(rule.weights, laws, strict=True)]
        fixed = deployed.scale == 0
        ratio = torch.stack(scales) / deployed.scale
        kinds, kind = _distinct_columns(ratio[:, ~fixed].round(decimals=RATIO_DIGITS))
        if fixed.any():
            kind = torch.full_like(fixed, -1, dtype=torch.int64).masked_scatter(~fixed, kind)
        if len(kinds) > MAX_RATIOS or not (kinds > 10.0**-RATIO_DIGITS).all():
            return None
        return cls(kinds, kind)

    @property
    def beats_products(self) -> bool:
        """Whether one box per client, with the same image as the lattice, certainly has less mass than it.

        Those boxes are narrower than their image by the sum of the ratios, the lattice's by at most 5 %.
        """
        counts = math.isfinite(self.log_mass(torch.tensor([3.0], dtype=torch.float64)))
        return counts and bool((self.kinds.sum(-1) > LOPSIDED).all())

    def log_mass(self, radius: Float64[Tensor, "n_w_or_1"]) -> float:
        """A lower bound of the log probability of all tuples of cells whose image lies in M ± r S.

        M and S are the exact mean and scale of the deployed law.

        Args:
            radius: r, one per parameter or one for all; rounded down to multiples of 1/64.
        """
        level = (radius * LEVELS).floor().clamp(max=LEVELS * 8).long().expand(len(self.kind))
        random = self.kind >= 0
        if not (level >= 1)[random].all():
            return -math.inf
        count = (self.kind * (LEVELS * 8 + 1) + level)[random].bincount()
        terms = []
        for group in count.nonzero().squeeze(-1).tolist():
            which, value = divmod(group, LEVELS * 8 + 1)
            ratios = tuple(self.kinds[which].tolist())
            terms.append(int(count[group]) * _log_probability(value / LEVELS, ratios))
        return sum_down(down(torch.tensor(terms, dtype=torch.float64))).item()


def _distinct_columns(
    table: Float64[Tensor, "n n_w"],
) -> tuple[Float64[Tensor, "kinds n"], Int64[Tensor, "n_w"]]:
    """The distinct columns, and which of them each column is; most often all columns are the same."""
    if (table == table[:, :1]).all():
        return table[:, :1].mT, torch.zeros_like(table[0], dtype=torch.int64)
    kinds, kind = table.mT.unique(dim=0, return_inverse=True)
    return kinds, kind


@lru_cache(maxsize=4096)
def _log_probability(radius: float, ratios: tuple[float, ...]) -> float:
    """A lower bound of log Pr(−m < Σ_i j_i ≤ m − 1 − n) with j_i = floor(Z_i / t_i), t_i = radius / (m a_i).

    A cell's image differs from the lattice's by the rounding of a_i to six digits and of t_i: by a share of
    at most 1e-6 / min a + 8u of its distance from the mean, so over all clients by at most n · max j times
    that share, in cells. This must not exceed the one cell that is left out at either end.
    """
    n = len(ratios)
    m = CELLS * n
    steps = [radius / (m * a) for a in ratios]
    reach = [math.ceil(WIDEST / t) for t in steps]
    distortion = 10.0**-RATIO_DIGITS / min(ratios) + 8 * UNIT_ROUNDOFF
    if n * (max(reach) + 1) * distortion > 0.5:
        return -math.inf
    sums = np.ones(1)
    first, roundings = 0, 8
    for t, k in zip(steps, reach, strict=True):
        edges = torch.arange(-k, k + 1, dtype=torch.float64) * t
        histogram = exp_down(log_mass_lower(edges[:-1], edges[1:])).numpy()
        roundings += min(len(sums), len(histogram)) + 1
        sums = np.convolve(sums, histogram)
        first -= k
    inside = sums[max(0, -m + 1 - first) : max(0, m - 1 - n - first + 1)]
    probability = sum_down(torch.from_numpy(inside)) * (1 - gamma(2 * roundings))
    return log_down(down(probability).clamp(min=0.0, max=1.0)).item()
