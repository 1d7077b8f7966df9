"""Constraints that are violated together, which a sum of tails counts twice (docs/soundness.md, 15.11).

With N constraints violated at the centre, E (N − 1)⁺ = Σ_r Pr(r is violated there) − 1 + Pr(none is). Margins
behind fixed layers are jointly normal there; if their covariances are at least c_r c_s, none is violated with
at least the probability that one shared normal T gives (Slepian).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from flint import arb, ctx

from fedcert_check.balls import ONE, ZERO, Balls, interval_mass, tail
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.carried import Head
from fedcert_check.projected.exact import Region
from fedcert_check.projected.layers import square_root
from fedcert_check.validation import Array

REACH, CELLS_PER_UNIT = 8, 256
"""The shared normal is cut into cells of this width between −REACH and REACH."""


def counted_twice(
    layers: Sequence[Layer], region: Region, rectified: Sequence[bool] | None, shared: Array
) -> arb:
    """A lower bound of E (N − 1)⁺ for some of the constraints, an exact number; 0 where nothing is known.

    Args:
        layers: the deployed network and its law; all but the last are fixed.
        region: the property.
        rectified: whether a ReLU follows each hidden layer; None for all.
        shared: c ≥ 0; a negative number leaves a constraint out.
    """
    member = shared >= 0
    if member.sum() < 2:
        return ZERO
    *fixed, _ = layers
    head, h = Head(layers, (), region).head, region.centre
    for layer, bent in zip(fixed, rectified or [True] * len(fixed), strict=True):
        h = layer.mean_at(h)
        h = np.array([_rectified(v) for v in h], dtype=object) if bent else h
    rows, c = region.C[member], [arb(own) for own in shared[member].tolist()]
    mean = rows @ head.mean_at(h) + region.d[member]
    variance = head.at(rows, h) ** 2
    pairs = list(combinations(range(len(c)), 2))
    apart = head.at(np.stack([rows[r] - rows[s] for r, s in pairs]), h) ** 2
    covariances = [(variance[r] + variance[s] - v) / 2 for (r, s), v in zip(pairs, apart, strict=True)]
    if not all(v > 0 and own * own <= v for own, v in zip(c, variance, strict=True)):
        return ZERO
    if not all(k >= c[r] * c[s] for (r, s), k in zip(pairs, covariances, strict=True)):
        return ZERO
    alone = sum((tail(g / v.sqrt()) for g, v in zip(mean, variance, strict=True)), ZERO)
    found = (alone - 1 + none_violated(mean, variance, c)).lower()
    return found if found > 0 else ZERO


def none_violated(mean: Balls, variance: Balls, c: Sequence[arb]) -> arb:
    """∫ φ(t) Π_r Φ((g_r + c_r t) / √(s_r² − c_r²)) dt from below: the product rises with t."""
    rest = [square_root(v - own * own) for v, own in zip(variance, c, strict=True)]
    found = ZERO
    for start, mass in cells(ctx.prec):
        every = ONE
        for g, own, deviation in zip(mean, c, rest, strict=True):
            z = (g + own * start) / deviation
            every = every * (tail(-z).lower() if z.is_finite() else ZERO)
            if not every > 0:
                break
        found = found + mass * every
    return found.lower()


@lru_cache(maxsize=4)
def cells(precision: int) -> list[tuple[arb, arb]]:
    """Where each cell of the shared normal begins, and its mass; the last one has no end.

    Args:
        precision: of the masses, the one that is set.
    """
    last = REACH * CELLS_PER_UNIT
    ends = [arb(k) / CELLS_PER_UNIT for k in range(-last, last + 1)]
    masses = [interval_mass(a, b) for a, b in pairwise(ends)]
    return list(zip(ends, [*masses, tail(ends[-1])], strict=True))


def _rectified(v: arb) -> arb:
    """max(v, 0)."""
    if v >= 0:
        return v
    return ZERO if v <= 0 else ZERO.union(v.upper())
