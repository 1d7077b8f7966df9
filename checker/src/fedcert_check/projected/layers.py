"""The law of a network's parameters, layer by layer, in balls: W ~ N(M, S²), b ~ N(m, s²), independent."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from flint import arb, arb_mat, ctx

from fedcert_check.balls import ZERO, Balls, matrix, zeros
from fedcert_check.projected.floats import (
    FLOAT_PRECISION,
    FloatLaw,
    as_balls,
    squared,
    sum_of_products,
    up,
    uppers,
)
from fedcert_check.projected.unproven import Unproven as Unproven
from fedcert_check.validation import Array


@dataclass(frozen=True)
class RandomLayer:
    """W h + b.

    Attributes:
        mean: M.
        variance: S².
        bias: m.
        bias_variance: s².
    """

    mean: arb_mat
    variance: arb_mat
    bias: Balls
    bias_variance: Balls

    @property
    def outputs(self) -> int:
        """The number of neurons."""
        return len(self.bias)

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return int(self.mean.ncols())

    @cached_property
    def fixed_weights(self) -> bool:
        """Whether no weight is random."""
        return all(v == 0 for v in self.variance.entries())

    @cached_property
    def fixed(self) -> bool:
        """Whether neither weights nor biases are random."""
        return self.fixed_weights and all(v == 0 for v in self.bias_variance)

    @cached_property
    def in_floats(self) -> FloatLaw:
        """The law of the weights in floating point, with its errors."""
        return FloatLaw.of(*self._arrays)

    @cached_property
    def square(self) -> arb_mat:
        """M² + S² = E W²."""
        M, S2 = self._arrays
        return matrix(M * M + S2)

    @cached_property
    def widest(self) -> Balls:
        """For each input, an upper bound of the deviations S of its weights."""
        if ctx.prec <= FLOAT_PRECISION:
            return as_balls(self.in_floats.widest)
        return root(greatest(self._arrays[1].T))

    @property
    def _arrays(self) -> list[Balls]:
        """M and S²."""
        return [_entries(own).reshape(self.outputs, self.inputs) for own in (self.mean, self.variance)]

    def deviations(self, rows: Balls) -> tuple[Balls, Balls]:
        """√Σ_j B_j² S_jk² and √Σ_j B_j² s_j²: the deviations of B W̃ and B·b̃."""
        squares = rows * rows
        return root(times(squares, self.variance)), root(squares @ self.bias_variance)

    def product(self, rows: Balls) -> Balls:
        """B M."""
        return times(rows, self.mean)

    def mean_at(self, x: Balls) -> Balls:
        """M x + m."""
        return times(x[None], self.mean.transpose())[0] + self.bias

    def reach(self, radius: Balls) -> Balls:
        """|M| δ."""
        sizes = np.array([abs(v) for v in self.mean.entries()], dtype=object)
        return times(radius[None], matrix(sizes.reshape(self.outputs, -1)).transpose())[0]

    def spread(self, rows: Balls, inputs: Balls, u: arb) -> Balls:
        """Σ_j δ_j √Σ_k B_k² W_kj² for rows B ≥ 0, from above but for Q(u)."""
        columns: Balls
        if ctx.prec <= FLOAT_PRECISION:
            squares = sum_of_products(squared(uppers(rows)), self.in_floats.square)
            columns = as_balls(sum_of_products(up(np.sqrt(squares)), uppers(inputs)))
        else:
            columns = root(times(rows * rows, self.square)) @ inputs
        widths = inputs * self.widest
        return columns + u * greatest(rows) * square_root((widths * widths).sum())

    def at(self, rows: Balls, h: Balls) -> Balls:
        """The deviations of B·(W̃ h + b̃) at fixed inputs h."""
        noise, bias_noise = self.deviations(rows)
        return root((noise * noise) @ (h * h) + bias_noise * bias_noise)

    def along(self, rows: Balls, directions: Balls) -> Balls:
        """The variances of B W̃ t for each column t."""
        return times(times(rows * rows, self.variance), matrix(directions * directions))

    def covariances(self, rows: Balls, h: Balls) -> Balls:
        """Cov((B W̃)_k, B·(W̃ h + b̃)) at fixed inputs h."""
        return times(rows * rows, self.variance) * h

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """The deviations of B W̃ v for all |v| ≤ δ, at most."""
        return root(np.asarray(times(rows * rows, self.variance) @ (delta * delta), dtype=object))


@runtime_checkable
class AnyLayer(Protocol):
    """A layer under some law, as far as it is known which of its parameters are random."""

    @property
    def fixed_weights(self) -> bool:
        """Whether no weight is random."""
        ...

    @property
    def fixed(self) -> bool:
        """Whether neither weights nor biases are random."""
        ...


def random_weights(layers: Sequence[AnyLayer]) -> int:
    """The number of layers whose weights are random: the deviation of each one's noise takes an event."""
    return sum(not layer.fixed_weights for layer in layers)


def zero_or_one(bound: arb, layers: Sequence[AnyLayer]) -> arb:
    """A bound of the probability of something that depends on these layers alone.

    If they are all fixed it is 0 or 1, so that a bound below 1 makes it 0.
    """
    return ZERO if bound < 1 and all(layer.fixed for layer in layers) else bound


def times(rows: Balls, columns: arb_mat) -> Balls:
    """B A for rows B."""
    return _entries(matrix(rows) * columns).reshape(len(rows), columns.ncols())


def _entries(matrix: arb_mat) -> Balls:
    entries = np.empty(matrix.nrows() * matrix.ncols(), dtype=object)
    entries[:] = matrix.entries()
    return entries


def unit(size: int) -> Balls:
    """The unit rows."""
    rows = zeros(size, size)
    rows[range(size), range(size)] = arb(1)
    return rows


def square_root(v: arb) -> arb:
    """√v of a number v ≥ 0, whose ball may reach below 0."""
    return v.sqrt() if v >= ZERO else ZERO.union(v.upper().sqrt())


_square_roots = np.frompyfunc(square_root, 1, 1)


def root(balls: Balls) -> Balls:
    """√v of numbers v ≥ 0, whose balls may reach below 0."""
    return np.asarray(_square_roots(balls), dtype=object)


def where(chosen: Array, yes: Balls, no: Balls) -> Balls:
    """Entry by entry, one or the other."""
    return np.array([y if c else n for c, y, n in zip(chosen.tolist(), yes, no, strict=True)], dtype=object)


def largest(*balls: arb) -> arb:
    """An upper bound of the largest of some numbers; one that is not bounded raises."""
    if not all(map(arb.is_finite, balls)):
        raise Unproven("a number without a bound")
    return max(map(arb.upper, balls))


def greatest(balls: Balls) -> Balls:
    """Upper bounds of the maxima over the last axis."""
    return np.array([largest(*row) for row in balls.tolist()], dtype=object)


def random_layer(M: Balls, m: Balls, S2: Balls, s2: Balls) -> RandomLayer:
    """A layer with these means and variances."""
    return RandomLayer(matrix(M), matrix(S2), m, s2)
