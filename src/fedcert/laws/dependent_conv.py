"""A convolution whose kernel and biases are jointly normal: a sum of independent parts."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.affine import Outputs, RandomAffine
from fedcert.laws.conv_affine import ConvAffine
from fedcert.laws.conv_noise import ConvNoise, by_filter
from fedcert.laws.covariance import Covariance
from fedcert.laws.dependent_affine import DependentAffine, root_of_squares
from fedcert.laws.kernel_parts import KernelPart, kernel_part
from fedcert.laws.noise_parts import NoisePart
from fedcert.numerics.rounding import above, rounding_error, up


@dataclass(frozen=True)
class DependentConvAffine(ConvAffine):
    """W h + b for a convolution with a jointly normal kernel and biases (docs/soundness.md, 15.12).

    `weight_scale` and `bias_scale` are bounds of the deviations of single weights and biases.

    Attributes:
        parts: independent of each other; their sum is the noise of the kernel's matrix and of the biases.
    """

    parts: tuple[KernelPart, ...] = field(kw_only=True)

    @classmethod
    def of_parts(cls, mean: ConvAffine, parts: tuple[NoisePart, ...], **others: Any) -> "DependentConvAffine":
        """A convolution with the means of another one, and this noise.

        Args:
            mean: the means, and their errors.
            parts: of the matrix of the kernel, one row for each filter.
            **others: further attributes of a subclass.
        """
        shape = mean.weight.flatten(0, 1)
        weight = root_of_squares([part.weight_deviation for part in parts], shape)
        bias = root_of_squares([part.bias_deviation for part in parts], mean.bias.flatten())
        return cls(
            mean.layer,
            mean.weight,
            mean.bias,
            weight.view_as(mean.weight),
            bias.view_as(mean.bias),
            mean.weight_error,
            mean.bias_error,
            parts=tuple(map(kernel_part, parts)),
            **others,
        )

    def held(self) -> int:
        """How many numbers a row of its noise holds at a time."""
        return super().held() + sum(part.held(self.layer) for part in self.parts)

    def at_one_position(self) -> RandomAffine:
        """The neurons of the only position, as a fully connected layer where every part says how."""
        parts = [part.alone(self.layer) for part in self.parts]
        known = tuple(part for part in parts if part is not None)
        if len(known) < len(parts):
            return self
        (M, m), (E, e) = (
            self.layer.unrolled((weight.reshape(self.layer.shapes[0]), bias.reshape(-1)))
            for weight, bias in ((self.weight, self.bias), (self.weight_error, self.bias_error))
        )
        return DependentAffine(M, m, E, e, known)

    def noise(self, rows: Float64[Tensor, "P R m"]) -> "DependentConvNoise":
        """B·(W̃ h + b̃) for rows B."""
        return DependentConvNoise(self.layer, self.weight_scale, self.bias_scale, rows, self.parts)

    def at(self, x: Float64[Tensor, "P k"]) -> Outputs:
        """The means at a point x with their error, and Σ |x| d and d added up, which bound the deviations."""
        found = super().at(x)
        size = self.convolved(x.abs(), self.weight_scale, self.bias_scale)
        return Outputs(found.mean, above(size, self.weight.shape[-1] + 4), found.error)


@dataclass(frozen=True)
class JoinedConvAffine(DependentConvAffine):
    """A convolution whose parameters may depend on those of other layers.

    Attributes:
        joint: the covariance of all layers' parameters.
    """

    joint: Covariance = field(kw_only=True)

    def at_one_position(self) -> RandomAffine:
        """It stays a convolution, whose parameters are those of the law."""
        return self

    def coefficients(
        self, rows: Float64[Tensor, "P R m"], h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R n"], Float64[Tensor, "P R n"]]:
        """T and β: the coefficients of the kernel, filter by filter, and the biases; and their errors."""
        form = self.noise(rows).form(h)
        found, lost = (
            torch.cat([own.flatten(-2), totals], -1)
            for own, totals in ((form.T, form.totals), (form.T_error, form.totals_error))
        )
        return found, lost


class Form(NamedTuple):
    """T and β of ⟨W̃, T⟩ + b̃·β in floating point, and bounds of their errors."""

    T: Float64[Tensor, "P R f K"]
    T_error: Float64[Tensor, "P R f K"]
    totals: Float64[Tensor, "P R f"]
    totals_error: Float64[Tensor, "P R f"]


@dataclass(frozen=True)
class DependentConvNoise(ConvNoise):
    """B·(W̃ h + b̃) = ⟨W̃, T⟩ + b̃·β with T_oκ = Σ_l B_ol h_(window(l, κ)) and β_o = Σ_l B_ol, for rows B.

    Attributes:
        parts: what each of the independent parts says; variances add up.
    """

    parts: tuple[KernelPart, ...]

    @cached_property
    def weight(self) -> Float64[Tensor, "P R k"]:
        """Upper bounds of the deviations of (B W̃)_k."""
        like = self.rows[..., :1].expand(-1, -1, self.layer.inputs)
        return root_of_squares([part.of_pixels(self.layer, self.rows) for part in self.parts], like)

    @cached_property
    def bias(self) -> Float64[Tensor, "P R"]:
        """Upper bounds of the deviation of B·b̃."""
        return self.at(self.rows.new_zeros(len(self.rows), self.layer.inputs))

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """That of T and β as they were found, and Σ e d for their errors e and parameters' deviations d."""
        form = self.form(h)
        found = root_of_squares([part.of_form(form.T, form.totals) for part in self.parts], self.rows[..., 0])
        weight, bias = self.weight_scale.flatten(0, 1), self.bias_scale.flatten()
        lost = (form.T_error * weight).sum((-1, -2)) + form.totals_error @ bias
        return up(found + above(lost, weight.numel() + len(bias) + 4))

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Bounds for all |T_oκ| ≤ Σ_l |B_ol| δ_(window(l, κ)), of which the forms of |v| ≤ δ are some.

        Args:
            delta: δ.
        """
        sizes = _flat(above(self._sums(self.rows.abs(), delta), self.places + 1))
        return root_of_squares([part.of_any(sizes) for part in self.parts], self.rows[..., 0])

    def form(self, h: Float64[Tensor, "P k"]) -> Form:
        """T and β at fixed inputs h.

        Args:
            h: the inputs.
        """
        each = by_filter(self.layer, self.rows).flatten(-3, -2)
        error = rounding_error(self.places + 1, self._sums(self.rows.abs(), h.abs()))
        lost = rounding_error(self.places, each.abs().sum(-1))
        return Form(_flat(self._sums(self.rows, h)), _flat(error), each.sum(-1), lost)


def _flat(forms: Float64[Tensor, "P G R o K"]) -> Float64[Tensor, "P R f K"]:
    """Filter by filter, whatever its group."""
    found: Tensor = forms.movedim(1, 2).flatten(2, 3)
    return found
