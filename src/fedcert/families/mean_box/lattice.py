"""Tuples of lattice cells, counted by convolution: transport without the loss of one box a client.

Cut every coordinate of every client into cells of equal width h in the aggregate, w_i σ_i,d t_i,d = h_d. In a
coordinate the tuple (j_1, …, j_n) of cells is carried into [J h, (J + n) h] around the mean, J = Σ j_i. All
tuples whose image stays inside one verified box are proven by the proof of that box. Their number is
astronomical, but coordinates are independent and within one the sum J is a convolution of n histograms:

    mass = Π_d Pr(−m < J_d ≤ m − 1 − n),   m h_d = the room between mean and face of the verified box.

As m grows this climbs to the mass of the verified box under the deployed law. The tests leave out one cell at
either end, which is more room than all roundings of the lattice need.
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

MAX_CLIENTS = 32  # beyond, histograms grow too long
CELLS = 32  # m / n: lattice cells between mean and face, for each client
LEVELS = 64  # radii are rounded down to multiples of 1/64 deviation
WIDEST = 8.5  # deviations that a histogram spans
MAX_RATIOS = 16  # different ratios of the clients' deviations that are worth a convolution each
RATIO_DIGITS = 6
LOPSIDED = 1.1  # sum of the ratios, up to which the clients are nearly one alone


@dataclass(frozen=True)
class Lattice:
    """The lattice cells of a federation under a linear rule.

    Attributes:
        kinds: the different ratios of the clients' deviations to the deployed one, rounded.
        kind: which of them each parameter has.
    """

    kinds: Float64[Tensor, "kinds n"]
    kind: Int64[Tensor, "n_w"]

    @classmethod
    def of(cls, rule: LinearMap, laws: Sequence[DiagonalLaw]) -> "Lattice | None":
        """The lattice; None where there are too many clients or too many different scales to count.

        Args:
            rule: a linear rule.
            laws: the clients' posteriors.
        """
        if len(laws) > MAX_CLIENTS:
            return None
        scales = [w.abs() * law.scale for w, law in zip(rule.weights, laws, strict=True)]
        ratio = torch.stack(scales) / rule.pushforward(laws).scale
        kinds, kind = _distinct_columns(ratio.round(decimals=RATIO_DIGITS))
        if len(kinds) > MAX_RATIOS or not (kinds > 10.0**-RATIO_DIGITS).all():
            return None
        return cls(kinds, kind)

    @property
    def beats_products(self) -> bool:
        """Whether a tuple of boxes, one a client, with the same image as the lattice has certainly less mass.

        Those boxes are narrower than their image by the sum of the ratios, the lattice's by 5 % at most.
        """
        counts = math.isfinite(self.log_mass(torch.tensor([3.0], dtype=torch.float64)))
        return counts and self.kinds.sum(-1).min().item() > LOPSIDED

    def log_mass(self, radius: Float64[Tensor, "n_w_or_1"]) -> float:
        """A lower bound of the log probability of all tuples of cells whose image lies in M ± r S.

        M and S are the exact mean and scale of the deployed law.

        Args:
            radius: r, for each parameter or one for all; rounded down to multiples of 1/64.
        """
        level = (radius * LEVELS).floor().clamp(max=LEVELS * 8).long().expand(len(self.kind))
        if not (level >= 1).all():
            return -math.inf
        count = (self.kind * (LEVELS * 8 + 1) + level).bincount()
        terms = []
        for group in count.nonzero().squeeze(-1).tolist():
            which, value = divmod(group, LEVELS * 8 + 1)
            ratios = tuple(self.kinds[which].tolist())
            terms.append(int(count[group]) * _log_probability(value / LEVELS, ratios))
        return sum_down(down(torch.tensor(terms, dtype=torch.float64))).item()


def _distinct_columns(
    table: Float64[Tensor, "n n_w"],
) -> tuple[Float64[Tensor, "kinds n"], Int64[Tensor, "n_w"]]:
    """The different columns, and which one each column is; most often all columns are one."""
    if (table == table[:, :1]).all():
        return table[:, :1].mT, torch.zeros_like(table[0], dtype=torch.int64)
    kinds, kind = table.mT.unique(dim=0, return_inverse=True)
    return kinds, kind


@lru_cache(maxsize=4096)
def _log_probability(radius: float, ratios: tuple[float, ...]) -> float:
    """A lower bound of log Pr(−m < Σ_i j_i ≤ m − 1 − n) with j_i = floor(Z_i / t_i), t_i = radius / (m a_i).

    A cell's image differs from the lattice's by the rounding of a_i to six digits and of t_i: by a share of
    at most 1e-6 / min a + 8u of its distance from the mean, over all clients at most n · max j · that, in
    cells. It must not exceed the one cell that is left out at either end.
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
