"""Layers whose weights and biases are jointly normal, in balls (docs/soundness.md, section 14)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat

from fedcert_check.balls import Balls, matrix, zeros
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.layers import RandomLayer, root, times
from fedcert_check.projected.parts import Part, coefficients, projected


class Seen(NamedTuple):
    """What a linear form sees of one layer, at fixed inputs.

    Attributes:
        rows: B.
        inputs: c.
    """

    rows: Balls
    inputs: Balls


@dataclass(frozen=True, eq=False)
class DependentLayer:
    """W h + b.

    Attributes:
        mean: M.
        bias: m.
        parts: independent of each other; their sum is the noise.
        joint: the covariance of the parameters of all layers, if these depend on each other.
    """

    mean: arb_mat
    bias: Balls
    parts: tuple[Part, ...]
    joint: arb_mat | None = None

    @property
    def outputs(self) -> int:
        """The number of neurons."""
        return len(self.bias)

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return int(self.mean.ncols())

    @cached_property
    def weight_variances(self) -> Balls:
        """Of the weights."""
        nothing = zeros(self.outputs, self.inputs)
        return np.asarray(sum((part.weight_variances for part in self.parts), nothing), dtype=object)

    @cached_property
    def bias_variances(self) -> Balls:
        """Of the biases."""
        nothing = zeros(self.outputs)
        return np.asarray(sum((part.bias_variances for part in self.parts), nothing), dtype=object)

    @cached_property
    def square(self) -> arb_mat:
        """E W², entry by entry."""
        means = np.array(self.mean.entries(), dtype=object).reshape(self.outputs, self.inputs)
        return matrix(means * means + self.weight_variances)

    @cached_property
    def fixed_weights(self) -> bool:
        """Whether no weight is random."""
        return all(v == 0 for v in self.weight_variances.ravel())

    @cached_property
    def fixed(self) -> bool:
        """Whether neither weights nor biases are random."""
        return self.fixed_weights and all(v == 0 for v in self.bias_variances)

    def product(self, rows: Balls) -> Balls:
        """B M."""
        return times(rows, self.mean)

    def mean_at(self, x: Balls) -> Balls:
        """M x + m."""
        return times(x[None], self.mean.transpose())[0] + self.bias

    def spread(self, rows: Balls, inputs: Balls, u: arb) -> Balls:
        """Σ_j δ_j √Σ_k B_k² W_kj² for rows B ≥ 0, from above but for Q(u)."""
        columns: Balls = root(times(rows * rows, self.square)) @ inputs
        return columns + u * ((rows @ root(self.weight_variances)) @ inputs)

    def deviations(self, rows: Balls) -> Balls:
        """The deviations of (B W̃)_k."""
        nothing = zeros(len(rows), self.inputs)
        return root(np.asarray(sum((part.inputs(rows) for part in self.parts), nothing)))

    def at(self, rows: Balls, h: Balls) -> Balls:
        """The deviations of B·(W̃ h + b̃) at fixed inputs h."""
        return root(np.asarray(sum((part.at(rows, h) for part in self.parts), zeros(len(rows)))))

    def along(self, rows: Balls, directions: Balls) -> Balls:
        """The variances of B W̃ t for each column t."""
        nothing = zeros(len(rows), directions.shape[1])
        return np.asarray(sum((part.along(rows, directions) for part in self.parts), nothing), dtype=object)

    def covariances(self, rows: Balls, h: Balls) -> Balls:
        """Cov((B W̃)_k, B·(W̃ h + b̃)) at fixed inputs h."""
        nothing = zeros(len(rows), self.inputs)
        return np.asarray(sum((part.covariances(rows, h) for part in self.parts), nothing), dtype=object)

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """Upper bounds of the deviations of B W̃ v for all |v| ≤ δ."""
        if self.fixed_weights or all(d == 0 for d in delta):
            return zeros(len(rows))
        return root(np.asarray(sum((part.steepest(rows, delta) for part in self.parts), zeros(len(rows)))))


Layer = RandomLayer | DependentLayer | ConvLayer
"""W h + b, with independent parameters, with any covariance, or a convolution."""


def joint_deviation(layers: Sequence[Layer], seen: Sequence[Seen]) -> Balls:
    """The deviation of Σ_l B_l·(W̃_l c_l + b̃_l), of the first layers.

    Args:
        layers: all layers, under one law.
        seen: of the first of them, in their order.
    """
    joint = layers[0].joint if isinstance(layers[0], DependentLayer) else None
    if joint is None:
        parts = [layer.at(*own) for layer, own in zip(layers, seen, strict=False)]
        return root(np.sum([part * part for part in parts], axis=0))
    parts = [coefficients(*own) for own in seen]
    known = sum(part.shape[1] for part in parts)
    missing = zeros(len(parts[0]), joint.nrows() - known)
    return root(projected(np.concatenate([*parts, missing], axis=1), joint))
