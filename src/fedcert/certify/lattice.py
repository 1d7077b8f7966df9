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
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.gaussian import log_mass_lower
from fedcert.laws import DiagonalGaussian
from fedcert.numerics import UNIT_ROUNDOFF, down, exp_down, gamma, log_down, sum_down
from fedcert.rules import LinearRule

MOST_CLIENTS = 32  # beyond, histograms grow too long
CELLS = 32  # m / n: lattice cells between mean and face, for each client
LEVELS = 64  # radii are rounded down to multiples of 1/64 deviation
WIDEST = 8.5  # deviations that a histogram spans
MOST_RATIOS = 16  # different ratios of the clients' deviations that are worth a convolution each
RATIO_DIGITS = 6


def lattice_log_mass(
    rule: LinearRule, laws: Sequence[DiagonalGaussian], radius: Float64[Tensor, "n_w_or_1"]
) -> float:
    """A lower bound of the log probability of all tuples of lattice cells whose image lies in M ± r S.

    M and S are the exact mean and scale of the deployed law.

    Args:
        rule: a linear rule.
        laws: the clients' posteriors.
        radius: r, for each parameter or one for all; rounded down to multiples of 1/64.

    Returns:
        The bound; −inf where there are too many clients or too many different scales to count.
    """
    if len(laws) > MOST_CLIENTS:
        return -math.inf
    deployed = rule.pushforward(laws)
    contribution = torch.stack([w.abs() * law.scale for w, law in zip(rule.weights, laws, strict=True)], -1)
    ratio = contribution / deployed.scale.unsqueeze(-1)
    level = (radius * LEVELS).floor().clamp(max=LEVELS * 8).expand(deployed.dimension)
    if not (level >= 1).all():
        return -math.inf
    kinds, kind = ratio.round(decimals=RATIO_DIGITS).unique(dim=0, return_inverse=True)
    if len(kinds) > MOST_RATIOS or not (kinds > 10.0**-RATIO_DIGITS).all():
        return -math.inf
    groups, count = torch.stack([kind.double(), level], -1).unique(dim=0, return_counts=True)
    terms = [
        size * _log_probability(value / LEVELS, tuple(kinds[int(which)].tolist()))
        for (which, value), size in zip(groups.tolist(), count.tolist(), strict=True)
    ]
    return sum_down(down(torch.tensor(terms, dtype=torch.float64))).item()


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
