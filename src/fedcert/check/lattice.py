"""The probability of all tuples of lattice cells that a linear rule carries into a box around its mean.

In each coordinate the clients' deviations Z_i are cut into cells [j t_i, (j + 1) t_i] with a_i t_i = r/m,
where a_i = |w_i| σ_i / S is client i's share of the deployed scale S. The tuple (j_1, …, j_n) is carried into
M + S (r/m) [J, J + n], J = Σ j_i, which lies in [M − r S, M + r S] if −m ≤ J ≤ m − n. J is a sum of
independent integers, so its law is a product of polynomials (docs/soundness.md, section 6).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import arb, arb_poly

from fedcert.check.balls import ONE, ZERO, exact, size, tail
from fedcert.check.document import Array, Client, Rule, require
from fedcert.check.rules import linear_weights

CELLS = 32  # m / n: cells between mean and face, for each client
LEVELS = 64  # radii are rounded down to multiples of 1/64: fewer different ones
WIDEST = 9  # deviations that the cells of a client span
MOST_SHARES = 64  # different shares that are counted exactly; beyond, they are rounded
MOST_CLIENTS = 32  # whose histograms are multiplied
DIGITS = 6


class Shares(NamedTuple):
    """The clients' shares a_i of the deployed scale in some coordinates.

    Attributes:
        parts: numbers in the proportion of the shares: |w_i| and σ_i for each client.
        distortion: a bound of |a_i / a − 1| for the shares a_i of all these coordinates; 0 if they are equal.
    """

    parts: tuple[tuple[float, float], ...]
    distortion: float


class Lattice(NamedTuple):
    """For each coordinate its shares, as an index into the different ones."""

    shares: tuple[Shares, ...]
    which: Array

    def mass(self, radius: Array) -> arb:
        """The probability for the box [M − r S, M + r S], radii rounded down to multiples of 1/64."""
        level = np.floor(radius * LEVELS).astype(np.int64)
        groups, counts = np.unique(np.stack([self.which, level]), axis=1, return_counts=True)
        total = ONE
        for kind, steps, count in zip(*groups.tolist(), counts.tolist(), strict=True):
            total = total * probability(steps, self.shares[kind]) ** count
        return total


def lattice_of(rule: Rule, clients: Sequence[Client]) -> Lattice:
    """The lattice of a linear rule: exact where few coordinates differ, with rounded shares elsewhere."""
    scale = np.stack([client.scale for client in clients])
    weight = np.broadcast_to(np.abs(linear_weights(rule)), scale.shape)
    require(bool((weight > 0).all()), "a lattice needs weights that are not zero")
    rows, index = np.unique(np.concatenate([weight, scale]).T, axis=0, return_inverse=True)
    n = len(clients)
    require(n <= MOST_CLIENTS, f"a lattice of {n} clients, more than {MOST_CLIENTS}")
    distinct = [tuple(zip(row[:n], row[n:], strict=True)) for row in rows.tolist()]
    if len(distinct) <= MOST_SHARES:
        return Lattice(tuple(Shares(parts, 0.0) for parts in distinct), index.reshape(-1))
    contribution = weight * scale
    rounded = np.round(contribution / np.sqrt((contribution**2).sum(0)), DIGITS)
    kinds, kind = np.unique(rounded.T, axis=0, return_inverse=True)
    require(bool((kinds > 0).all()), "a client's share of the deployed scale is too small for a lattice")
    distortion = _distortion(weight, scale, rounded)
    shares = [Shares(tuple((a, 1.0) for a in row), distortion) for row in kinds.tolist()]
    return Lattice(tuple(shares), kind.reshape(-1))


def _distortion(weight: Array, scale: Array, rounded: Array) -> float:
    """An upper bound of |a/ã − 1| over all clients and coordinates, a exact and ã rounded."""
    contribution = exact(weight) * exact(scale)
    squares = (contribution**2).sum(0)
    unit = np.array([v.sqrt() for v in squares.tolist()], dtype=object)
    worst = max(v.upper() for v in size(contribution / unit / exact(rounded) - 1).ravel().tolist())
    return math.nextafter(float(worst), math.inf)


@lru_cache(maxsize=4096)
def probability(level: int, shares: Shares) -> arb:
    """Pr(−m + s ≤ J ≤ m − n − s) for the radius level/64.

    The spare s is 0 where the shares are exact. Elsewhere the image of a cell is off by at most
    distortion × its distance from the mean, over all clients n · reach · distortion cells, which must not
    exceed the one cell that is then left out at either end.
    """
    if level < 1:
        return ZERO
    n = len(shares.parts)
    m = CELLS * n
    contributions = [arb(w) * arb(sigma) for w, sigma in shares.parts]
    unit = ONE if shares.distortion else sum((c * c for c in contributions), ZERO).sqrt()
    steps = [arb(level) / LEVELS * unit / (m * c) for c in contributions]
    reach = [math.ceil(float((WIDEST / t).upper())) for t in steps]
    if not n * max(reach) * arb(shares.distortion) <= 1:
        return ZERO
    spare = 1 if shares.distortion else 0
    sums = arb_poly([1])
    histograms: dict[str, arb_poly] = {}
    for part, t, k in zip(shares.parts, steps, reach, strict=True):
        if repr(part) not in histograms:
            tails = [tail(j * t) for j in range(k + 1)]
            half = [near - far for near, far in pairwise(tails)]
            histograms[repr(part)] = arb_poly(half[::-1] + half)
        sums = sums * histograms[repr(part)]
    first = -sum(reach)  # the value of J that belongs to the constant coefficient
    inside = sums.coeffs()[max(0, -m + spare - first) : max(0, m - n - spare - first + 1)]
    return sum(inside, ZERO)
