"""The noise of a convolution's kernel as a sum of independent parts: what forms and rows see of each.

A part is one of a matrix of weights, a row for each filter and a column for each entry of a window. Rows B of
the neurons see ⟨W̃, T⟩ + b̃·β at fixed inputs, T_oκ = Σ_l B_ol h_(window(l, κ)) and β_o = Σ_l B_ol: a linear
form of any rank, where a fully connected layer has T = B hᵀ (docs/soundness.md, 15.12).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.bias_noise import BiasPart
from fedcert.laws.conv_noise import by_filter, onto_pixels, terms_onto_pixels
from fedcert.laws.covariance import HIDDEN, rows_at_a_time
from fedcert.laws.independent_noise import norm_up
from fedcert.laws.kronecker import KroneckerPart, stretch
from fedcert.laws.noise_parts import DensePart, DiagonalPart, NoisePart
from fedcert.laws.seen_pixels import Overlaps, positions
from fedcert.model.layers import Conv2d
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, gamma, up


@runtime_checkable
class KernelPart(Protocol):
    """One of the independent parts of the noise of a kernel and its biases."""

    def of_form(
        self, T: Float64[Tensor, "P R f K"], totals: Float64[Tensor, "P R f"]
    ) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations of ⟨W̃, T⟩ + b̃·β, for these very numbers."""
        ...

    def of_any(self, sizes: Float64[Tensor, "P R f K"]) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations of ⟨W̃, T⟩ for all |T| ≤ τ."""
        ...

    def of_pixels(self, layer: Conv2d, rows: Float64[Tensor, "P R m"]) -> Float64[Tensor, "P R k"]:
        """Bounds of the deviations of (B W̃)_k, pixel by pixel."""
        ...

    def held(self, layer: Conv2d) -> int:
        """How many numbers `of_pixels` holds for a row, beside those of the pixels."""
        ...

    def alone(self, layer: Conv2d) -> NoisePart | None:
        """The same noise as that of a fully connected layer, where the kernel has one position."""
        ...


def kernel_part(part: NoisePart) -> KernelPart:
    """What a convolution sees of a part that is stated for the matrix of its weights.

    Args:
        part: of one of the types that blocks are read as.
    """
    match part:
        case DiagonalPart():
            return DiagonalKernel(part)
        case KroneckerPart():
            return KroneckerKernel(part)
        case DensePart():
            return DenseKernel(part)
        case BiasPart():
            return BiasKernel(part)
    raise InvalidLaw(f"a {type(part).__name__} is no noise of a kernel")


@dataclass(frozen=True)
class DiagonalKernel:
    """Independent weights and biases.

    Attributes:
        part: their deviations.
    """

    part: DiagonalPart

    def of_form(
        self, T: Float64[Tensor, "P R f K"], totals: Float64[Tensor, "P R f"]
    ) -> Float64[Tensor, "P R"]:
        """√(Σ S² T² + Σ s² β²)."""
        S, s = self.part.weight_deviation, self.part.bias_deviation
        variance = (up(T * T) * (S * S)).sum((-1, -2)) + (up(totals * totals) * (s * s)).sum(-1)
        return up(above(variance, S.numel() + len(s) + 6).sqrt())

    def of_any(self, sizes: Float64[Tensor, "P R f K"]) -> Float64[Tensor, "P R"]:
        """√Σ S² τ²."""
        return self.of_form(sizes, torch.zeros_like(sizes[..., 0]))

    def of_pixels(self, layer: Conv2d, rows: Float64[Tensor, "P R m"]) -> Float64[Tensor, "P R k"]:
        """√Σ_oκ S_oκ² B_ol²: no weight counts twice."""
        own = self.part.weight_deviation.unflatten(0, (layer.groups, -1))
        variance = onto_pixels(layer, up(rows * rows), own * own)
        return up(above(variance, terms_onto_pixels(layer) + 3).sqrt())

    def held(self, layer: Conv2d) -> int:
        """As many as there are windows' entries."""
        return layer.windows.pixel_table().numel()

    def alone(self, layer: Conv2d) -> NoisePart:
        """Deviations of the matrix of all neurons."""
        weight = self.part.weight_deviation.reshape(layer.shapes[0])
        return DiagonalPart(*layer.unrolled((weight, self.part.bias_deviation)))


@dataclass(frozen=True)
class BiasKernel:
    """Biases of any covariance, and no noise of the weights.

    Attributes:
        part: their covariance.
    """

    part: BiasPart

    def of_form(
        self, T: Float64[Tensor, "P R f K"], totals: Float64[Tensor, "P R f"]
    ) -> Float64[Tensor, "P R"]:
        """The deviation of b̃·β."""
        return self.part.covariance.of_projection(totals)

    def of_any(self, sizes: Float64[Tensor, "P R f K"]) -> Float64[Tensor, "P R"]:
        """0."""
        return torch.zeros_like(sizes[..., 0, 0])

    def of_pixels(self, layer: Conv2d, rows: Float64[Tensor, "P R m"]) -> Float64[Tensor, "P R k"]:
        """0."""
        return rows.new_zeros(*rows.shape[:-1], layer.inputs)

    def held(self, layer: Conv2d) -> int:
        """None."""
        return 0

    def alone(self, layer: Conv2d) -> NoisePart:
        """The same."""
        return BiasPart((layer.filters, layer.inputs), self.part.covariance)


@dataclass(frozen=True)
class DenseKernel:
    """Weights and biases of any covariance.

    Attributes:
        part: their covariance.
    """

    part: DensePart

    def of_form(
        self, T: Float64[Tensor, "P R f K"], totals: Float64[Tensor, "P R f"]
    ) -> Float64[Tensor, "P R"]:
        """√(c·Σ c), c the entries of T and β."""
        return self.part.covariance.of_projection(torch.cat([T.flatten(-2), totals], dim=-1))

    def of_any(self, sizes: Float64[Tensor, "P R f K"]) -> Float64[Tensor, "P R"]:
        """√Σ_ab τ_a τ_b |Σ_ab|."""
        covariance, own = self.part.covariance, sizes.flatten(-2)
        n = own.shape[-1]
        value = ((own @ covariance.matrix[:n, :n].abs()) * own).sum(-1)
        return covariance.root(above(value, 2 * n + 4), own @ covariance.deviation[:n])

    def of_pixels(self, layer: Conv2d, rows: Float64[Tensor, "P R m"]) -> Float64[Tensor, "P R k"]:
        """That of the form whose entries are B_ol where window(l, κ) is the pixel, and 0 elsewhere."""
        table = positions(layer).to(rows.device)
        flat = by_filter(layer, rows).flatten(-3, -2).flatten(0, 1)
        padded = torch.cat([flat, torch.zeros_like(flat[..., :1])], -1)
        step = rows_at_a_time(table[0].numel() * layer.inputs)
        found = [self._some_pixels(own, table) for own in padded.split(step)]
        whole: Tensor = torch.cat(found).unflatten(0, rows.shape[:2])
        return whole

    def _some_pixels(
        self, rows: Float64[Tensor, "N f L"], table: Int64[Tensor, "k f K"]
    ) -> Float64[Tensor, "N k"]:
        each = rows.unsqueeze(1).expand(-1, len(table), -1, -1)
        T = each.gather(-1, table.expand(len(rows), -1, -1, -1))
        return self.of_form(T, torch.zeros_like(T[..., 0]))

    def held(self, layer: Conv2d) -> int:
        """None: rows are treated a few at a time."""
        return 0

    def alone(self, layer: Conv2d) -> None:
        """It stays a convolution."""


@dataclass(frozen=True)
class KroneckerKernel:
    """U (D∘Z) Vᵀ: the rows of R = (D∘Z) Vᵀ are independent, row a with the covariance V diag(D_a²) Vᵀ.

    Attributes:
        part: U, V and D.
    """

    part: KroneckerPart

    @cached_property
    def stretches(self) -> Float64[Tensor, ""]:
        """A bound of ‖U‖ ‖V‖ max D; each product is rounded up, since what underflows is multiplied on."""
        left, right = (up(own.sqrt()) for own in (stretch(self.part.left), self.part.stretch))
        return up(up(left * self.part.scale.amax()) * right)

    def of_form(
        self, T: Float64[Tensor, "P R f K"], totals: Float64[Tensor, "P R f"]
    ) -> Float64[Tensor, "P R"]:
        """√Σ_ab D_ab² (Uᵀ T V)_ab²; both products may cancel."""
        U, V, terms = self.part.left, self.part.right, sum(self.part.right.shape) + len(self.part.left)
        value, size = (U.mT @ (T @ V)).abs(), U.abs().mT @ (T.abs() @ V.abs())
        hidden = terms * SMALLEST_NORMAL * (1 + U.abs().sum(0).unsqueeze(-1))  # what underflows lose
        projected = above(value + gamma(8 * (terms + 4)) * size + hidden, 4)
        return self._weighed(projected)

    def of_any(self, sizes: Float64[Tensor, "P R f K"]) -> Float64[Tensor, "P R"]:
        """The smaller of √Σ_ab D_ab² (|U|ᵀ τ |V|)_ab² and ‖U‖ ‖V‖ max D ‖τ‖."""
        U, V = self.part.left.abs(), self.part.right.abs()
        apart = self._weighed(above(U.mT @ (sizes @ V), len(U) + len(V) + 8))
        return torch.minimum(apart, up(self.stretches * norm_up(sizes.flatten(-2))))

    def _weighed(self, projected: Float64[Tensor, "P R a b"]) -> Float64[Tensor, "P R"]:
        """√Σ_ab D_ab² p_ab² for bounds p."""
        variance = (up(projected * projected) * self.part.square).sum((-1, -2))
        return up(above(variance, self.part.square.numel() + 6).sqrt())

    @cached_property
    def _rows_of_noise(self) -> tuple[Float64[Tensor, "a K K"], Float64[Tensor, "a K"]]:
        """The covariances of the rows of R, as floating point finds them, and bounds of its deviations."""
        V, square = self.part.right, self.part.square
        deviation = up(above(square @ up(V * V).mT, V.shape[-1] + 4).sqrt())
        return (V * square.unsqueeze(1)) @ V.mT, up(deviation + HIDDEN * (1 + V.abs().sum(-1)))

    def of_pixels(self, layer: Conv2d, rows: Float64[Tensor, "P R m"]) -> Float64[Tensor, "P R k"]:
        """√Σ_a Var(R_a·c_a), c_aκ = Σ_o U_oa B_ol where window(l, κ) is the pixel, o in the pixel's group."""
        U = self.part.left.unflatten(0, (layer.groups, -1))
        matrix, deviation = self._rows_of_noise
        place = Overlaps.of(layer, rows.device)
        by_place = by_filter(layer, rows).flatten(0, 1).permute(1, 2, 3, 0)
        c = place.pick((U.mT @ by_place.flatten(2)).unflatten(2, by_place.shape[2:]))
        between = matrix[:, place.entry.unsqueeze(-1), place.entry.unsqueeze(-2)]
        value = ((between @ c) * c).sum(0).sum(1).mT.unflatten(0, rows.shape[:2])
        reach = (self.part.left.abs() @ deviation).unflatten(0, (layer.groups, -1))
        total = onto_pixels(layer, rows.abs(), reach) + HIDDEN
        terms = sum(self.part.right.shape) + len(self.part.left) + len(matrix) + c.shape[2] ** 2
        charge = gamma(16 * (terms + 8)) * total * total
        return up(above(up(value + up(charge)).clamp(min=0.0), 4).sqrt())

    def held(self, layer: Conv2d) -> int:
        """What each window that sees a pixel says of it, for each column of U."""
        return 2 * self.part.left.shape[-1] * layer.inputs * layer.windows.overlap

    def alone(self, layer: Conv2d) -> NoisePart | None:
        """V with a row for each pixel: that of its place in the window, or 0."""
        if layer.groups > 1:
            return None
        part = self.part
        right = part.right.new_zeros(layer.inputs + 1, part.right.shape[-1])
        right[layer.windows.pixel_table(right.device)[0, 0]] = part.right
        return KroneckerPart(part.left, right[:-1], part.scale, part.shrinkage)
