"""The probability of all tuples of lattice cells that a linear rule carries into a box around its mean.

In each coordinate the clients' deviations Z_i are cut into cells [j t_i, (j + 1) t_i] with a_i t_i = r/m,
where a_i = |w_i| σ_i / S is client i's share of the deployed scale S. The tuple (j_1, …, j_n) is carried into
M + S (r/m) [J, J + n], J = Σ j_i, which lies in [M − r S, M + r S] if −m ≤ J ≤ m − n. J is a sum of
independent integers: the law of either half of the clients is a product of polynomials, and what both halves
together give the interval is a sum over the cells of one (docs/soundness.md, section 6).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from flint import arb, arb_poly

from fedcert_check.balls import ONE, ZERO, exact, size, tail
from fedcert_check.laws import DiagonalGaussian
from fedcert_check.rules import Rule, linear
from fedcert_check.validation import Array, require

CELLS_PER_CLIENT = 32  # m / n: cells between mean and face
LEVELS_PER_DEVIATION = 64  # radii are rounded down to multiples of 1/64: fewer different ones
SPANNED_DEVIATIONS = 9  # that the cells of a client cover
MAX_EXACT_SHARES = 64  # different shares that are counted exactly; if there are more, they are rounded
MAX_LATTICE_CLIENTS = 32  # whose histograms are multiplied
SHARE_DIGITS = 6
MAX_REMEMBERED_PROBABILITIES = 4096


Parts = tuple[tuple[float, float], ...]


class Shares(NamedTuple):
    """The clients' shares a_i of the deployed scale in some coordinates.

    Attributes:
        parts: numbers in the proportion of the shares: |w_i| and σ_i for each client.
        distortion: a bound of |a_i / a − 1| for the shares a_i of all these coordinates; 0 if they are equal.
    """

    parts: Parts
    distortion: float


class Lattice(NamedTuple):
    """For each coordinate its shares, as an index into the different ones; −1 for a fixed one."""

    shares: tuple[Shares, ...]
    which: Array

    def mass(self, radius: Array) -> arb:
        """The probability for the box [M − r S, M + r S], radii rounded down to multiples of 1/64."""
        level, random = np.floor(radius * LEVELS_PER_DEVIATION).astype(np.int64), self.which >= 0
        groups, counts = np.unique(np.stack([self.which, level])[:, random], axis=1, return_counts=True)
        total = ONE
        for kind, steps, count in zip(*groups.tolist(), counts.tolist(), strict=True):
            total = total * probability(steps, self.shares[kind]) ** count
        return total


class Kinds(NamedTuple):
    """The different shares of some clients, in floats.

    Attributes:
        rows: |w_i| of all clients and then σ_i of all where `exact`; shares a_i elsewhere.
        which: the row of each coordinate; −1 where no client's share is above 0.
        exact: whether nothing was rounded.
    """

    rows: Array
    which: Array
    exact: bool


def kinds_of(rule: Rule, laws: Sequence[DiagonalGaussian]) -> Kinds:
    """The different shares: exact where few coordinates differ, rounded elsewhere.

    A coordinate that no client leaves open is fixed, and always in the box.
    """
    weight, scale = _parts(rule, laws)
    shared = (weight > 0) & (scale > 0)
    random: Array = np.asarray(shared.any(0))
    require(bool(shared[:, random].all()), "a lattice needs weights and scales that are not zero")
    weight, scale = weight[:, random], scale[:, random]
    n = len(laws)
    require(n <= MAX_LATTICE_CLIENTS, f"a lattice of {n} clients, more than {MAX_LATTICE_CLIENTS}")
    rows, which = _distinct(np.concatenate([weight, scale]).T)
    unrounded = len(rows) <= MAX_EXACT_SHARES
    if not unrounded:
        rows, which = _distinct(_rounded(weight, scale).T)
        require(bool((rows > 0).all()), "a client's share of the deployed scale is too small for a lattice")
    places = np.full(len(random), -1, dtype=np.int64)
    places[random] = which
    return Kinds(rows, places, unrounded)


def _distinct(table: Array) -> tuple[Array, Array]:
    """The different rows of a table, and which of them each row is; most often all are one."""
    if bool((table == table[:1]).all()):
        return table[:1], np.zeros(len(table), dtype=np.int64)
    rows, which = np.unique(table, axis=0, return_inverse=True)
    return rows, which.reshape(-1)


def lattice_of(rule: Rule, laws: Sequence[DiagonalGaussian]) -> Lattice:
    """The lattice of a linear rule."""
    rows, which, unrounded = kinds_of(rule, laws)
    n = len(laws)
    if unrounded:
        parts = [tuple(zip(row[:n], row[n:], strict=True)) for row in rows.tolist()]
        return Lattice(tuple(Shares(own, 0.0) for own in parts), which)
    weight, scale = (part[:, which >= 0] for part in _parts(rule, laws))
    distortion = _distortion(weight, scale, _rounded(weight, scale))
    return Lattice(tuple(Shares(tuple((a, 1.0) for a in row), distortion) for row in rows.tolist()), which)


def _parts(rule: Rule, laws: Sequence[DiagonalGaussian]) -> tuple[Array, Array]:
    """|w| and σ, of shape (n, n_w)."""
    scale = np.stack([law.scale for law in laws])
    return np.broadcast_to(np.abs(linear(rule).weights), scale.shape), scale


def _rounded(weight: Array, scale: Array) -> Array:
    """Shares to six digits."""
    contribution = weight * scale
    shares: Array = np.round(contribution / np.sqrt((contribution**2).sum(0)), SHARE_DIGITS)
    return shares


def _distortion(weight: Array, scale: Array, rounded: Array) -> float:
    """An upper bound of |a/ã − 1| over all clients and coordinates, a exact and ã rounded."""
    contribution = exact(weight) * exact(scale)
    squares = (contribution**2).sum(0)
    unit = np.array([v.sqrt() for v in squares.tolist()], dtype=object)
    worst = max(v.upper() for v in size(contribution / unit / exact(rounded) - 1).ravel().tolist())
    return math.nextafter(float(worst), math.inf)


@lru_cache(maxsize=MAX_REMEMBERED_PROBABILITIES)
def probability(level: int, shares: Shares) -> arb:
    """Pr(−m + s ≤ J ≤ m − n − s) for the radius level/64.

    The spare s is 0 where the shares are exact. Elsewhere the image of a cell is off by at most
    distortion × its distance from the mean, over all clients n · reach · distortion cells, which must not
    exceed the one cell that is then left out at either end.
    """
    if level < 1:
        return ZERO
    n = len(shares.parts)
    m = CELLS_PER_CLIENT * n
    contributions = [arb(w) * arb(sigma) for w, sigma in shares.parts]
    unit = ONE if shares.distortion else sum((c * c for c in contributions), ZERO).sqrt()
    steps = [arb(level) / LEVELS_PER_DEVIATION * unit / (m * c) for c in contributions]
    reach = [math.ceil(float((SPANNED_DEVIATIONS / t).upper())) for t in steps]
    if not n * max(reach) * arb(shares.distortion) <= 1:
        return ZERO
    spare = 1 if shares.distortion else 0
    laws: dict[Parts, arb_poly] = {(): arb_poly([1])}
    for part, t, k in zip(shares.parts, steps, reach, strict=True):
        if (part,) not in laws:
            laws[part,] = _histogram(t, k)
    first = -sum(reach)  # the value of J that belongs to the constant coefficient
    halves = (_law(shares.parts[: n // 2], laws), _law(shares.parts[n // 2 :], laws))
    return _between(*halves, -m + spare - first, m - n - spare - first)


def _histogram(step: arb, reach: int) -> arb_poly:
    """The masses of the cells [j t, (j + 1) t], −reach ≤ j < reach."""
    half = [near - far for near, far in pairwise(tail(j * step) for j in range(reach + 1))]
    return arb_poly(half[::-1] + half)


def _law(parts: Parts, known: dict[Parts, arb_poly]) -> arb_poly:
    """The law of the sum of some clients' cells, by halves; clients of equal shares are multiplied once."""
    if parts not in known:
        middle = len(parts) // 2
        known[parts] = _law(parts[:middle], known) * _law(parts[middle:], known)
    return known[parts]


def _between(one: arb_poly, other: arb_poly, least: int, most: int) -> arb:
    """The sum of the coefficients `least` to `most` of the product, without the product."""
    below = list(accumulate(other.coeffs(), initial=ZERO))  # of all coefficients before each
    last = len(below) - 1
    mass = ZERO
    for k, share in enumerate(one.coeffs()):
        start, stop = max(0, least - k), min(last, most - k + 1)
        if start < stop:
            mass = mass + share * (below[stop] - below[start])
    return mass
