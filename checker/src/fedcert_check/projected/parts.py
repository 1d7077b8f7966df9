"""Independent parts of a layer's noise, in balls (docs/soundness.md, section 14)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from flint import arb_mat

from fedcert_check.balls import ZERO, Balls, matrix, size, zeros
from fedcert_check.projected.layers import times
from fedcert_check.validation import Array


@runtime_checkable
class Part(Protocol):
    """One part: variances of what rows B see of it."""

    @property
    def weight_variances(self) -> Balls:
        """Of the weights, of shape (m, k)."""
        ...

    @property
    def bias_variances(self) -> Balls:
        """Of the biases, of shape (m,)."""
        ...

    def inputs(self, rows: Balls) -> Balls:
        """The variances of (B W̃)_k, of shape (R, k)."""
        ...

    def at(self, rows: Balls, h: Balls) -> Balls:
        """The variances of B·(W̃ h + b̃) at fixed inputs h, of shape (R,)."""
        ...

    def along(self, rows: Balls, directions: Balls) -> Balls:
        """The variances of B W̃ t for each column t, of shape (R, J)."""
        ...

    def covariances(self, rows: Balls, h: Balls) -> Balls:
        """Cov((B W̃)_k, B·(W̃ h + b̃)) at fixed inputs h, of shape (R, k)."""
        ...

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """Upper bounds of the variances of B W̃ v for all |v| ≤ δ, of shape (R,)."""
        ...


@dataclass(frozen=True, eq=False)
class DensePart:
    """Any covariance.

    Attributes:
        outputs: m.
        covariance: of the entries of W, row by row, and then of b.
    """

    outputs: int
    covariance: Balls

    @property
    def _inputs(self) -> int:
        return len(self.covariance) // self.outputs - 1

    @cached_property
    def weight_variances(self) -> Balls:
        """Of the weights."""
        return np.diagonal(self.covariance)[: -self.outputs].reshape(self.outputs, -1)

    @cached_property
    def bias_variances(self) -> Balls:
        """Of the biases."""
        return np.diagonal(self.covariance)[-self.outputs :]

    @cached_property
    def _weights(self) -> Balls:
        """Covariances of the weights, of shape (m, k, m, k)."""
        m, k = self.outputs, self._inputs
        return self.covariance[: m * k, : m * k].reshape(m, k, m, k)

    @cached_property
    def _by_output(self) -> arb_mat:
        """The same, one row for each output."""
        return matrix(self._weights.reshape(self.outputs, -1))

    @cached_property
    def _whole(self) -> arb_mat:
        return matrix(self.covariance)

    def inputs(self, rows: Balls) -> Balls:
        """The variances of (B W̃)_k."""
        columns = [
            (times(rows, matrix(self._weights[:, k, :, k])) * rows).sum(-1) for k in range(self._inputs)
        ]
        return np.stack(columns, axis=-1)

    def at(self, rows: Balls, h: Balls) -> Balls:
        """The variances at fixed inputs."""
        return projected(coefficients(rows, h), self._whole)

    def along(self, rows: Balls, directions: Balls) -> Balls:
        """The variances t·G t, G_kl = Cov((B W̃)_k, (B W̃)_l)."""
        columns, every = directions.T, np.ones(self._inputs, dtype=bool)
        return np.stack([projected(columns, matrix(self._gram(row, every))) for row in rows])

    def covariances(self, rows: Balls, h: Balls) -> Balls:
        """Σ_j B_j (Σ c)_jk for the coefficients c of B·(W h + b)."""
        seen = times(coefficients(rows, h), self._whole)[:, : -self.outputs]
        each = seen.reshape(len(rows), self.outputs, -1)
        return np.asarray((rows[:, :, None] * each).sum(1), dtype=object)

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """Σ_kl δ_k δ_l |Cov((B W̃)_k, (B W̃)_l)|."""
        moving = np.array([not d == 0 for d in delta])  # noqa: SIM201
        own, found = delta[moving], []
        for row in rows:
            gram = size(self._gram(row, moving))
            found.append(sum((own * (gram @ own)).tolist(), ZERO))
        return np.array(found, dtype=object)

    def _gram(self, row: Balls, moving: Array) -> Balls:
        """Cov((B W̃)_k, (B W̃)_l) for one row and the inputs that move."""
        used = np.array([not b == 0 for b in row])  # noqa: SIM201
        own, m, k = row[used], int(used.sum()), int(moving.sum())
        if m == 0 or k == 0:
            return zeros(k, k)
        if used.all() and moving.all():
            blocks = self._by_output
        else:
            blocks = matrix(self._weights[np.ix_(used, moving, used, moving)].reshape(m, k * m * k))
        once = times(own[None], blocks).reshape(k, m, k)
        twice = times(own[None], matrix(once.transpose(1, 0, 2).reshape(m, k * k)))
        return twice.reshape(k, k)


@dataclass(frozen=True, eq=False)
class BiasPart:
    """Any covariance of the biases.

    Attributes:
        width: k.
        covariance: of b.
    """

    width: int
    covariance: Balls

    @cached_property
    def weight_variances(self) -> Balls:
        """0."""
        return zeros(len(self.covariance), self.width)

    @cached_property
    def bias_variances(self) -> Balls:
        """Of the biases."""
        return np.diagonal(self.covariance)

    @cached_property
    def _whole(self) -> arb_mat:
        return matrix(self.covariance)

    def inputs(self, rows: Balls) -> Balls:
        """0."""
        return zeros(len(rows), self.width)

    def at(self, rows: Balls, h: Balls) -> Balls:
        """The variances of B·b̃."""
        return projected(rows, self._whole)

    def along(self, rows: Balls, directions: Balls) -> Balls:
        """0."""
        return zeros(len(rows), directions.shape[1])

    def covariances(self, rows: Balls, h: Balls) -> Balls:
        """0."""
        return zeros(len(rows), self.width)

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """0."""
        return zeros(len(rows))


@dataclass(frozen=True, eq=False)
class DiagonalPart:
    """Independent normals.

    Attributes:
        weight_variances: of the weights.
        bias_variances: of the biases.
    """

    weight_variances: Balls
    bias_variances: Balls

    @cached_property
    def _weights(self) -> arb_mat:
        return matrix(self.weight_variances)

    def inputs(self, rows: Balls) -> Balls:
        """The variances of (B W̃)_k."""
        return times(rows * rows, self._weights)

    def at(self, rows: Balls, h: Balls) -> Balls:
        """The variances at fixed inputs."""
        variances: Balls = self.inputs(rows) @ (h * h) + (rows * rows) @ self.bias_variances
        return variances

    def along(self, rows: Balls, directions: Balls) -> Balls:
        """Σ_k r_k² t_k²."""
        return times(self.inputs(rows), matrix(directions * directions))

    def covariances(self, rows: Balls, h: Balls) -> Balls:
        """The products r_k² h_k."""
        return self.inputs(rows) * h

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """Σ_k δ_k² r_k²."""
        variances: Balls = self.inputs(rows) @ (delta * delta)
        return variances


def coefficients(rows: Balls, h: Balls) -> Balls:
    """(B_j h_k)_jk and B: of the weights, row by row, and the biases in B·(W h + b)."""
    weights = rows[:, :, None] * h[None, None, :]
    return np.concatenate([weights.reshape(len(rows), -1), rows], axis=1)


def projected(given: Balls, covariance: arb_mat) -> Balls:
    """The variances c·Σ c for rows c."""
    variances: Balls = (times(given, covariance) * given).sum(-1)
    return variances
