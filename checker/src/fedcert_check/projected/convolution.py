"""Convolutions whose kernel and biases are independent normals, in balls (docs/soundness.md, section 15)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
from flint import arb, arb_mat

from fedcert_check.balls import ONE, ZERO, Balls, matrix, size, zeros
from fedcert_check.image_layers import AvgPool2d, Conv2d
from fedcert_check.projected.dependent import DependentLayer
from fedcert_check.projected.layers import RandomLayer, random_layer, root, times
from fedcert_check.validation import Array


@dataclass(frozen=True, eq=False)
class ConvLayer:
    """A convolution: one weight of the kernel acts at every position, so that neurons depend on each other.

    Attributes:
        layer: the convolution.
        kernel: means of the weights, of shape (filters, channels of a group × kernel).
        offsets: means of the biases, of shape (filters,).
        variance: of the weights.
        offset_variance: of the biases.
    """

    layer: Conv2d
    kernel: Balls
    offsets: Balls
    variance: Balls
    offset_variance: Balls

    @classmethod
    def mean_pool(cls, layer: AvgPool2d) -> "ConvLayer":
        """Means over windows: the kernel 1/K for each channel alone, which is known."""
        channels, entries = layer.grid.image[0], prod(layer.grid.kernel)
        nothing, kernel = zeros(channels), np.full((channels, entries), ONE / entries, dtype=object)
        return cls(layer.convolution, kernel, nothing, zeros(channels, entries), nothing)

    @property
    def inputs(self) -> int:
        """The number of pixels."""
        return self.layer.inputs

    @property
    def outputs(self) -> int:
        """The number of neurons."""
        return self.layer.outputs

    @property
    def places(self) -> int:
        """The number of positions."""
        return prod(self.layer.grid.positions)

    @cached_property
    def bias(self) -> Balls:
        """The mean offset of each neuron."""
        return np.repeat(self.offsets, self.places)

    @cached_property
    def fixed_weights(self) -> bool:
        """Whether no weight is random."""
        return all(v == 0 for v in self.variance.ravel())

    @cached_property
    def fixed(self) -> bool:
        """Whether neither weights nor biases are random."""
        return self.fixed_weights and all(v == 0 for v in self.offset_variance)

    def on(self, image: tuple[int, int, int]) -> "ConvLayer":
        """The same kernel on another image, without padding."""
        grid = replace(self.layer.grid, image=image, padding=(0, 0))
        return replace(self, layer=replace(self.layer, grid=grid))

    def at_one_position(self) -> "RandomLayer | DependentLayer | ConvLayer":
        """The neurons of the only position, whose weights are independent."""
        M, m = self.layer.matrix(self.kernel.ravel(), self.offsets, ZERO)
        S2, s2 = self.layer.matrix(self.variance.ravel(), self.offset_variance, ZERO)
        return random_layer(M, m, S2, s2)

    @cached_property
    def seen(self) -> Array:
        """The pixel that each weight of a group meets at each position, (G, L, K); −1 for padding."""
        grid, groups = self.layer.grid, self.layer.groups
        one, area = grid.seen(), prod(grid.image[1:])
        each = np.stack([np.where(one < 0, -1, one + c * area) for c in range(grid.image[0])])
        by_group = each.reshape(groups, -1, *one.shape).transpose(0, 2, 1, 3)
        return by_group.reshape(groups, len(one), -1)

    @cached_property
    def met(self) -> Array:
        """Where `seen`, written as one row, names each pixel: a row for each, filled up with −1."""
        flat = self.seen.ravel()
        order = np.argsort(flat, kind="stable")[int((flat < 0).sum()) :]
        counts = np.bincount(flat[flat >= 0], minlength=self.inputs)
        table = np.full((self.inputs, max(1, int(counts.max()))), -1)
        table[np.arange(table.shape[1]) < counts[:, None]] = order
        return table

    def by_group(self, kernel: Balls) -> list[arb_mat]:
        """A kernel, or squares of it, for each group of channels."""
        return [matrix(own) for own in np.split(kernel, self.layer.groups)]

    @cached_property
    def _means(self) -> list[arb_mat]:
        return self.by_group(self.kernel)

    @cached_property
    def _variances(self) -> list[arb_mat]:
        return self.by_group(self.variance)

    @cached_property
    def _squares(self) -> list[arb_mat]:
        """E W²."""
        return self.by_group(self.kernel * self.kernel + self.variance)

    def onto_pixels(self, rows: Balls, kernels: Sequence[arb_mat]) -> Balls:
        """Σ_j B_j w_jk for the matrix of all neurons, whose entries are those of a kernel."""
        each = rows.reshape(len(rows), self.layer.groups, -1, self.places)
        seen = []
        for group, kernel in enumerate(kernels):
            by_place = each[:, group].transpose(0, 2, 1).reshape(-1, kernel.nrows())
            seen.append(times(by_place, kernel).reshape(len(rows), -1))
        flat = np.concatenate([*seen, zeros(len(rows), 1)], axis=1)
        total = flat[:, self.met[:, 0]]
        for column in self.met.T[1:]:
            some = column >= 0
            total[:, some] = total[:, some] + flat[:, column[some]]
        return total

    def _windows(self, h: Balls) -> Balls:
        """What each position sees."""
        return np.concatenate([h, zeros(1)])[self.seen]

    def forms(self, rows: Balls, h: Balls) -> Balls:
        """T_oκ = Σ_l B_ol h_(window(l, κ)), what each weight of the kernel is multiplied by."""
        each = rows.reshape(len(rows), self.layer.groups, -1, self.places)
        found = [
            times(each[:, group].reshape(-1, self.places), matrix(own)).reshape(len(rows), -1, own.shape[1])
            for group, own in enumerate(self._windows(h))
        ]
        return np.concatenate(found, axis=1)

    def product(self, rows: Balls) -> Balls:
        """B M."""
        return self.onto_pixels(rows, self._means)

    def mean_at(self, x: Balls) -> Balls:
        """M x + m."""
        windows = self._windows(x)
        parts = [times(own, kernel.transpose()).T for own, kernel in zip(windows, self._means, strict=True)]
        return np.concatenate(parts).ravel() + self.bias

    def reach(self, radius: Balls) -> Balls:
        """|M| δ."""
        kernels = self.by_group(size(self.kernel))
        parts = [
            times(own, kernel.transpose()).T
            for own, kernel in zip(self._windows(radius), kernels, strict=True)
        ]
        return np.concatenate(parts).ravel()

    def deviations(self, rows: Balls) -> Balls:
        """The deviations of (B W̃)_k: a window sees a pixel once, and no weight counts twice."""
        if self.fixed_weights:
            return zeros(len(rows), self.inputs)
        return root(self.onto_pixels(rows * rows, self._variances))

    def at(self, rows: Balls, h: Balls) -> Balls:
        """The deviations √(Σ S² T² + Σ_o s_o² (Σ_l B_ol)²) of B·(W̃ h + b̃) at fixed inputs h."""
        totals = rows.reshape(len(rows), self.layer.filters, -1).sum(-1)
        variances = (totals * totals * self.offset_variance).sum(-1)
        if not self.fixed_weights:
            variances = variances + self._variance(self.forms(rows, h))
        return root(np.asarray(variances, dtype=object))

    def steepest(self, rows: Balls, delta: Balls) -> Balls:
        """√Σ S² (Σ_l |B_ol| δ)²: at least the deviation of B W̃ v for all |v| ≤ δ."""
        if self.fixed_weights or all(d == 0 for d in delta):
            return zeros(len(rows))
        return root(self._variance(self.forms(size(rows), delta)))

    def spread(self, rows: Balls, inputs: Balls, u: arb) -> Balls:
        """Σ_j δ_j √Σ_k B_k² W_kj² for rows B ≥ 0, from above but for Q(u)."""
        columns: Balls = root(self.onto_pixels(rows * rows, self._squares)) @ inputs
        return columns + u * self.steepest(rows, inputs)

    def _variance(self, forms: Balls) -> Balls:
        """Σ_oκ S_oκ² T_oκ²."""
        return np.asarray((forms * forms * self.variance).reshape(len(forms), -1).sum(-1), dtype=object)
