"""A random last layer behind fixed ones (docs/soundness.md, 15.10), in balls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb

from fedcert_check.balls import ZERO, Balls, size, zeros
from fedcert_check.projected.any_layer import Layer, joint_covariance
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.dependent import DependentLayer
from fedcert_check.projected.exact import Region
from fedcert_check.projected.folded import folded_means
from fedcert_check.projected.layers import RandomLayer, Unproven, largest, root, unit
from fedcert_check.projected.lines import Lines, through_relu
from fedcert_check.projected.movement import mean_size, smaller, still
from fedcert_check.projected.ranges import Ranges
from fedcert_check.projected.tails import Projections
from fedcert_check.validation import Array

Through = Callable[[Balls, Lines], tuple[Balls, Balls]]
"""Rows of pre-activations and constants, for coefficients of activations."""


@dataclass(frozen=True)
class Carried:
    """Rows of the features on the region, as c + T (x − x_c).

    Attributes:
        constant: c.
        slopes: T.
        passed: the coefficients of each hidden layer's activations, from the last one down.
    """

    constant: Balls
    slopes: Balls
    passed: Sequence[Balls]


@dataclass(frozen=True)
class Head:
    """The last layer, and what is known of the fixed ones before it.

    Attributes:
        layers: all of them.
        known: the hidden ones.
        region: whose constraints are rows of the last layer.
    """

    layers: Sequence[Layer]
    known: Sequence[Ranges]
    region: Region

    def tails(self, carried: Array) -> list[arb]:
        """Upper bounds of the probability that each constraint is violated.

        Args:
            carried: whether its noise is taken at the inputs, or feature by feature.
        """
        rows = self.region.C
        mean = self.to_inputs(self.layers[-1].product(rows), through_relu)
        lost = self.apart(mean.slopes)
        if carried.any():
            at_inputs = self.at_inputs(mean.slopes)
            lost = np.array([b if c else a for a, b, c in zip(lost, at_inputs, carried, strict=True)])
        g = mean.constant + rows @ self.layers[-1].bias + self.region.d - lost
        deviations = self.largest_deviation()
        return [Projections(0).tail(own, [s], ZERO) for own, s in zip(g, deviations, strict=True)]

    @cached_property
    def head(self) -> RandomLayer | DependentLayer:
        """The last layer; the noise of a convolution is not known along directions."""
        *fixed, head = self.layers
        if not all(layer.fixed for layer in fixed):
            raise Unproven("a layer before the last is random")
        if isinstance(head, ConvLayer) or joint_covariance(head) is not None:
            raise Unproven("the noise of the last layer is not known along directions")
        return head

    @property
    def features(self) -> tuple[Balls, Balls]:
        """The middle c and ρ with |h_k(x) − c_k| ≤ ρ_k on the region."""
        if not self.known:
            return self.region.centre, self.region.radius
        return self.known[-1].middle, self.known[-1].reach

    @cached_property
    def deviations(self) -> Balls:
        """Of N_k, for each constraint."""
        found = self.head.deviations(self.region.C)
        return found[0] if isinstance(found, tuple) else found

    def to_inputs(self, coefficient: Balls, through: Through) -> Carried:
        """Coefficients of the features, carried back through the fixed layers."""
        constant, passed = zeros(len(coefficient)), list[Balls]()
        for layer, known in zip(reversed(self.layers[:-1]), reversed(self.known), strict=True):
            passed.append(coefficient)
            rows, drop = through(coefficient, known.lines)
            constant = constant + drop + rows @ layer.bias
            coefficient = layer.product(rows)
        return Carried(constant + coefficient @ self.region.centre, coefficient, passed)

    def apart(self, slopes: Balls) -> Balls:
        """Σ_j δ_j |m_j| + √(2/π) Σ_k ρ_k r_k; where the features are the inputs, Σ_j δ_j E|m_j + N_j|."""
        _, reach = self.features
        if not self.known:
            return np.asarray(folded_means(slopes, self.deviations) @ reach)
        return np.asarray(size(slopes) @ self.region.radius + mean_size() * (self.deviations @ reach))

    def at_inputs(self, slopes: Balls) -> Balls:
        """Σ_j δ_j E|m_j + (N T)_j| + √(2/π) (Σ_i w_i √Var(N·D_i) + Σ_k w_k r_k)."""
        if not self.known:
            raise Unproven("there is nothing to carry the noise through")
        if still(self.region.radius):
            return self.apart(slopes)
        own = self.to_inputs(unit(self.head.inputs), _in_the_middle)
        noise = self.deviations @ (self.known[-1].lines.height / 2)
        for known, directions in zip(reversed(self.known[:-1]), own.passed[1:], strict=True):
            gaps = known.lines.height / 2
            open_ones = np.array([not w == 0 for w in gaps], dtype=bool)  # noqa: SIM201
            if open_ones.any():
                noise = noise + self.along(directions[:, open_ones]) @ gaps[open_ones]
        moving = np.array([not d == 0 for d in self.region.radius], dtype=bool)  # noqa: SIM201
        folded = folded_means(slopes[:, moving], self.along(own.slopes[:, moving]))
        return np.asarray(folded @ self.region.radius[moving] + mean_size() * noise)

    def along(self, directions: Balls) -> Balls:
        """The deviations of N·t, for each constraint and each column t."""
        return root(self.head.along(self.region.C, directions))

    def largest_deviation(self) -> Balls:
        """√(R(c)² + 2 sup q·(h − c) + sup Var(N·(h − c))), q_k = Cov(N_k, N·c + N_b), or R(c) and more."""
        centre, reach = self.features
        at = self.head.at(self.region.C, centre)
        if still(self.region.radius) and all(r == 0 for r in reach):
            return at
        beyond = self.head.steepest(self.region.C, reach)
        q = self.head.covariances(self.region.C, centre)
        opposite = self.to_inputs(-q, through_relu)
        highest = size(opposite.slopes) @ self.region.radius - opposite.constant
        rise = np.array([largest(v, ZERO) for v in highest - q @ centre], dtype=object)
        return smaller(root(at * at + 2 * rise + beyond * beyond), at + beyond)


def _in_the_middle(coefficient: Balls, lines: Lines) -> tuple[Balls, Balls]:
    """The line halfway between slope·a and slope·a + height."""
    return coefficient * lines.slope, np.asarray(coefficient @ (lines.height / 2))
