"""Convolutions whose kernel and biases are jointly normal, in balls (docs/soundness.md, 15.12)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb_mat

from fedcert_check.balls import ZERO, Balls, matrix, size, zeros
from fedcert_check.image_layers import Conv2d
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.dependent import DependentLayer
from fedcert_check.projected.kernel_parts import KernelPart, kernel_part
from fedcert_check.projected.layers import RandomLayer, root
from fedcert_check.projected.parts import Part


@dataclass(frozen=True, eq=False)
class DependentConvLayer(ConvLayer):
    """W h + b for a convolution; the variances are those of single weights and biases.

    Attributes:
        parts: independent of each other; their sum is the noise.
        joint: the covariance of the parameters of all layers, if these depend on each other.
    """

    parts: tuple[KernelPart, ...]
    joint: arb_mat | None = None

    @classmethod
    def of_parts(
        cls, layer: Conv2d, M: Balls, m: Balls, parts: Sequence[Part], joint: arb_mat | None = None
    ) -> "DependentConvLayer":
        """The convolution with these means and this noise of the matrix with a row for each filter."""
        weights = np.asarray(sum((part.weight_variances for part in parts), zeros(*M.shape)), dtype=object)
        biases = np.asarray(sum((part.bias_variances for part in parts), zeros(len(m))), dtype=object)
        return cls(layer, M, m, weights, biases, tuple(map(kernel_part, parts)), joint)

    def at_one_position(self) -> "RandomLayer | DependentLayer | ConvLayer":
        """The neurons of the only position, as a fully connected layer where every part says how."""
        parts = [part.alone(self) for part in self.parts]
        known = tuple(part for part in parts if part is not None)
        if self.joint is not None or len(known) < len(parts):
            return self
        M, m = self.layer.matrix(self.kernel.ravel(), self.offsets, ZERO)
        return DependentLayer(matrix(M), m, known)

    def form(self, rows: Balls, h: Balls) -> tuple[Balls, Balls]:
        """T and β of B·(W̃ h + b̃) = ⟨W̃, T⟩ + b̃·β."""
        return self.forms(rows, h), rows.reshape(len(rows), self.layer.filters, -1).sum(-1)

    def coefficients(self, rows: Balls, h: Balls) -> Balls:
        """Of the kernel, filter by filter, and the biases."""
        forms, totals = self.form(rows, h)
        return np.concatenate([forms.reshape(len(rows), -1), totals], axis=1)

    def deviations(self, rows: Balls) -> Balls:
        """The deviations of (B W̃)_k."""
        nothing = zeros(len(rows), self.inputs)
        return root(np.asarray(sum((part.of_pixels(self, rows) for part in self.parts), nothing)))

    def at(self, rows: Balls, h: Balls) -> Balls:
        """The deviations of B·(W̃ h + b̃) at fixed inputs h."""
        form = self.form(rows, h)
        return root(np.asarray(sum((part.of_form(*form) for part in self.parts), zeros(len(rows)))))

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """Upper bounds for all |T_oκ| ≤ Σ_l |B_ol| δ, of which the forms of |v| ≤ δ are some."""
        if self.fixed_weights or all(d == 0 for d in delta):
            return zeros(len(rows))
        sizes = self.forms(size(rows), delta)
        return root(np.asarray(sum((part.of_any(sizes) for part in self.parts), zeros(len(rows)))))
