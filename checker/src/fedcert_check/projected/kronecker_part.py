"""Kronecker-factored noise of a weight matrix, in balls (docs/soundness.md, 14.6)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb, arb_mat

from fedcert_check.balls import ZERO, Balls, matrix, size, zeros
from fedcert_check.projected.layers import largest, square_root, times


@dataclass(frozen=True, eq=False)
class KroneckerPart:
    """U (D∘Z) Vᵀ; nothing is assumed of U and V.

    Attributes:
        left: U.
        right: V.
        square: D².
    """

    left: arb_mat
    right: arb_mat
    square: arb_mat

    @cached_property
    def weight_variances(self) -> Balls:
        """Σ_ab U_ja² D_ab² V_kb²."""
        squares = _squared(self.left) * self.square * _squared(self.right).transpose()
        return array(squares)

    @cached_property
    def bias_variances(self) -> Balls:
        """0."""
        return zeros(self.left.nrows())

    @cached_property
    def stretch(self) -> arb:
        """‖V‖² at most."""
        return stretch(self.right)

    def _seen(self, rows: Balls) -> Balls:
        """g_b = Σ_a (UᵀB)_a² D_ab²."""
        own = times(rows, self.left)
        return times(own * own, self.square)

    def inputs(self, rows: Balls) -> Balls:
        """Σ_b V_kb² g_b."""
        return times(self._seen(rows), _squared(self.right).transpose())

    def at(self, rows: Balls, h: Balls) -> Balls:
        """Σ_b g_b (Vᵀh)_b²."""
        own = times(h[None], self.right)[0]
        variances: Balls = self._seen(rows) @ (own * own)
        return variances

    def along(self, rows: Balls, directions: Balls) -> Balls:
        """Σ_b g_b (Vᵀt)_b²."""
        own = times(directions.T, self.right)
        return times(self._seen(rows), matrix((own * own).T))

    def covariances(self, rows: Balls, h: Balls) -> Balls:
        """Σ_b V_kb g_b (Vᵀh)_b."""
        return times(self._seen(rows) * times(h[None], self.right), self.right.transpose())

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """The least of (Σ_k δ_k r_k)², Σ_b g_b (|V|ᵀδ)_b² and ‖δ‖² ‖V‖² max g."""
        g = self._seen(rows)
        reach = size(array(self.right)).T @ delta
        apart = g @ (reach * reach)
        spread = sum((delta * delta).tolist(), ZERO) * self.stretch
        found = []
        for seen, variances, second in zip(g, self.inputs(rows), apart, strict=True):
            first = sum((d * square_root(v) for d, v in zip(delta, variances, strict=True)), ZERO)
            each = (first * first, second, spread * largest(*seen))
            found.append(min(bound.upper() for bound in each))
        return np.array(found, dtype=object)


def stretch(a: arb_mat) -> arb:
    """‖A‖² at most: the largest row sum of |AᵀA|."""
    return largest(*size(array(a.transpose() * a)).sum(-1))


def array(a: arb_mat) -> Balls:
    """A matrix as an array."""
    entries = np.empty(a.nrows() * a.ncols(), dtype=object)
    entries[:] = a.entries()
    return entries.reshape(a.nrows(), a.ncols())


def _squared(a: arb_mat) -> arb_mat:
    """The squares of a matrix's entries."""
    entries = array(a)
    return matrix(entries * entries)
