"""Independent parts of the noise of a convolution's kernel, in balls (docs/soundness.md, 15.12).

A part is one of a matrix of weights, a row for each filter and a column for each entry of a window. Rows B of
the neurons see ⟨W̃, T⟩ + b̃·β at fixed inputs, T_oκ = Σ_l B_ol h_(window(l, κ)) and β_o = Σ_l B_ol.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from flint import arb_mat

from fedcert_check.balls import ZERO, Balls, matrix, size, zeros
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.kronecker_part import KroneckerPart, array, stretch
from fedcert_check.projected.layers import largest, times
from fedcert_check.projected.parts import BiasPart, DensePart, DiagonalPart, Part, projected
from fedcert_check.validation import Array


@runtime_checkable
class KernelPart(Protocol):
    """One part: variances of what rows B see of it."""

    def of_form(self, forms: Balls, totals: Balls) -> Balls:
        """The variances of ⟨W̃, T⟩ + b̃·β, for T of shape (R, f, K) and β of shape (R, f)."""
        ...

    def of_any(self, sizes: Balls) -> Balls:
        """Upper bounds of the variances of ⟨W̃, T⟩ for all |T| ≤ τ, of shape (R,)."""
        ...

    def of_pixels(self, layer: ConvLayer, rows: Balls) -> Balls:
        """The variances of (B W̃)_k, of shape (R, k)."""
        ...

    def alone(self, layer: ConvLayer) -> Part | None:
        """The same noise as that of a fully connected layer, where the kernel has one position."""
        ...


def kernel_part(part: Part) -> KernelPart:
    """What a convolution sees of a part that is stated for the matrix of its weights."""
    match part:
        case DiagonalPart():
            return DiagonalKernel(part)
        case KroneckerPart():
            return KroneckerKernel(part)
        case DensePart():
            return DenseKernel(part)
        case BiasPart():
            return BiasKernel(part)
    raise TypeError(f"a {type(part).__name__} is no noise of a kernel")


@dataclass(frozen=True, eq=False)
class DiagonalKernel:
    """Independent weights and biases.

    Attributes:
        part: their variances.
    """

    part: DiagonalPart

    def of_form(self, forms: Balls, totals: Balls) -> Balls:
        """Σ S² T² + Σ s² β²."""
        variances: Balls = self.of_any(forms) + (totals * totals) @ self.part.bias_variances
        return variances

    def of_any(self, sizes: Balls) -> Balls:
        """Σ S² τ²."""
        flat = sizes.reshape(len(sizes), -1)
        variances: Balls = (flat * flat) @ self.part.weight_variances.ravel()
        return variances

    def of_pixels(self, layer: ConvLayer, rows: Balls) -> Balls:
        """Σ_oκ S_oκ² B_ol²: a window sees a pixel once, and no weight counts twice."""
        return layer.onto_pixels(rows * rows, layer.by_group(self.part.weight_variances))

    def alone(self, layer: ConvLayer) -> Part:
        """Variances of the matrix of all neurons."""
        own = self.part
        return DiagonalPart(*layer.layer.matrix(own.weight_variances.ravel(), own.bias_variances, ZERO))


@dataclass(frozen=True, eq=False)
class BiasKernel:
    """Biases of any covariance, and no noise of the weights.

    Attributes:
        part: their covariance.
    """

    part: BiasPart

    def of_form(self, forms: Balls, totals: Balls) -> Balls:
        """The variances of b̃·β."""
        return self.part.at(totals, zeros(0))

    def of_any(self, sizes: Balls) -> Balls:
        """0."""
        return zeros(len(sizes))

    def of_pixels(self, layer: ConvLayer, rows: Balls) -> Balls:
        """0."""
        return zeros(len(rows), layer.inputs)

    def alone(self, layer: ConvLayer) -> Part:
        """The same."""
        return BiasPart(layer.inputs, self.part.covariance)


@dataclass(frozen=True, eq=False)
class DenseKernel:
    """Weights and biases of any covariance.

    Attributes:
        part: their covariance.
    """

    part: DensePart

    @cached_property
    def _whole(self) -> arb_mat:
        return matrix(self.part.covariance)

    @cached_property
    def _weights(self) -> Balls:
        """Covariances of the weights, of shape (f K, f K)."""
        count = len(self.part.covariance) - self.part.outputs
        return self.part.covariance[:count, :count]

    @cached_property
    def _sizes(self) -> arb_mat:
        return matrix(size(self._weights))

    def of_form(self, forms: Balls, totals: Balls) -> Balls:
        """c·Σ c, c the entries of T and β."""
        return projected(np.concatenate([forms.reshape(len(forms), -1), totals], axis=1), self._whole)

    def of_any(self, sizes: Balls) -> Balls:
        """Σ_ab τ_a τ_b |Σ_ab|."""
        return projected(sizes.reshape(len(sizes), -1), self._sizes)

    def of_pixels(self, layer: ConvLayer, rows: Balls) -> Balls:
        """c·Σ c, c the rows' entries B_ol where window(l, κ) is the pixel."""
        width = layer.kernel.shape[1]
        found = zeros(len(rows), layer.inputs)
        for own in overlaps(layer):
            names = (own.filters[:, None] * width + own.entries).ravel()
            c = _by_filter(layer, rows)[:, own.filters][:, :, own.positions].reshape(len(rows), -1)
            found[:, own.pixel] = projected(c, matrix(self._weights[np.ix_(names, names)]))
        return found

    def alone(self, layer: ConvLayer) -> None:
        """It stays a convolution."""


@dataclass(frozen=True, eq=False)
class KroneckerKernel:
    """U (D∘Z) Vᵀ: the rows of R = (D∘Z) Vᵀ are independent, row a with the covariance V diag(D_a²) Vᵀ.

    Attributes:
        part: U, V and D².
    """

    part: KroneckerPart

    @cached_property
    def _variances(self) -> Balls:
        """D_ab², row by row."""
        return array(self.part.square).ravel()

    @cached_property
    def _left(self) -> Balls:
        return array(self.part.left)

    @cached_property
    def _right(self) -> Balls:
        return array(self.part.right)

    def of_form(self, forms: Balls, totals: Balls) -> Balls:
        """Σ_ab D_ab² (Uᵀ T V)_ab²."""
        return self._weighed(forms, self._left, self._right)

    def of_any(self, sizes: Balls) -> Balls:
        """The smaller of Σ_ab D_ab² (|U|ᵀ τ |V|)_ab² and ‖U‖² ‖V‖² max D² ‖τ‖²."""
        apart = self._weighed(sizes, size(self._left), size(self._right))
        flat = sizes.reshape(len(sizes), -1)
        stretched = stretch(self.part.left) * self.part.stretch * largest(*self._variances)
        spread = (flat * flat).sum(-1) * stretched
        least = [min(a.upper(), b.upper()) for a, b in zip(apart, spread, strict=True)]
        return np.array(least, dtype=object)

    def _weighed(self, forms: Balls, left: Balls, right: Balls) -> Balls:
        """Σ_ab D_ab² (Lᵀ T R)_ab²."""
        rows, filters, entries = forms.shape
        on_right = times(forms.reshape(-1, entries), matrix(right)).reshape(rows, filters, -1)
        both = times(on_right.transpose(0, 2, 1).reshape(-1, filters), matrix(left))
        own = both.reshape(rows, entries, -1).transpose(0, 2, 1).reshape(rows, -1)
        variances: Balls = (own * own) @ self._variances
        return variances

    def of_pixels(self, layer: ConvLayer, rows: Balls) -> Balls:
        """Σ_ab D_ab² (c_a·V_b)², c_aκ = Σ_o U_oa B_ol where window(l, κ) is the pixel, o in its group."""
        found = zeros(len(rows), layer.inputs)
        per_group = layer.layer.filters // layer.layer.groups
        each = _by_filter(layer, rows).reshape(len(rows), -1, per_group, layer.places)
        factors = np.split(self._left, layer.layer.groups)
        seen = [
            times(each[:, g].transpose(0, 2, 1).reshape(-1, per_group), matrix(own))
            .reshape(len(rows), layer.places, -1)
            .transpose(0, 2, 1)
            for g, own in enumerate(factors)
        ]
        for place in overlaps(layer):
            c = seen[place.group][:, :, place.positions].reshape(-1, len(place.positions))
            own = times(c, matrix(self._right[place.entries])).reshape(len(rows), -1)
            found[:, place.pixel] = (own * own) @ self._variances
        return found

    def alone(self, layer: ConvLayer) -> Part | None:
        """V with a row for each pixel: that of its place in the window, or 0."""
        if layer.layer.groups > 1:
            return None
        pixels = layer.seen[0, 0]
        right = zeros(layer.inputs, self._right.shape[1])
        right[pixels[pixels >= 0]] = self._right[pixels >= 0]
        return KroneckerPart(self.part.left, matrix(right), self.part.square)


class Overlap(NamedTuple):
    """The windows that see a pixel, each at one entry.

    Attributes:
        pixel: its number.
        group: the one that reads it.
        filters: of this group.
        positions: of the windows.
        entries: κ, for each position.
    """

    pixel: int
    group: int
    filters: Array
    positions: Array
    entries: Array


def overlaps(layer: ConvLayer) -> Iterator[Overlap]:
    """Those of each pixel that is seen at all.

    Args:
        layer: the convolution.
    """
    own, shape = layer.layer, layer.seen.shape
    by_group = np.arange(own.filters).reshape(own.groups, -1)
    for pixel, met in enumerate(layer.met):
        groups, positions, entries = np.unravel_index(met[met >= 0], shape)
        if len(groups):
            yield Overlap(pixel, int(groups[0]), by_group[groups[0]], positions, entries)


def _by_filter(layer: ConvLayer, rows: Balls) -> Balls:
    """B_ol, of shape (R, f, L)."""
    return rows.reshape(len(rows), layer.layer.filters, layer.places)
