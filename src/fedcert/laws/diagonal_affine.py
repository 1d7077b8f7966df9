"""A layer whose weights and biases are independent normals: W = M + S∘Z, b = m + s∘z."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.affine import MAX_NORMAL, UNDERFLOW, Outputs
from fedcert.laws.independent_noise import IndependentNoise, norm_up
from fedcert.numerics.folded import ROUNDINGS, folded_mean
from fedcert.numerics.parts import in_blocks
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, gamma, rounding_error, up


@dataclass(frozen=True)
class DiagonalAffine:
    """W h + b with W = M + S∘Z and b = m + s∘z for independent standard normals.

    The exact law has means within the given errors of `weight` and `bias`, and scales between
    (1 − `shrinkage`) times the given ones and the given ones.

    Attributes:
        weight: M.
        bias: m.
        weight_scale: S.
        bias_scale: s.
        weight_error: bound of |M* − M| for the exact mean M*.
        bias_error: bound of |m* − m|.
        shrinkage: bound of 1 − S*/S for the exact scale S*.
    """

    weight: Float64[Tensor, "m k"]
    bias: Float64[Tensor, "m"]
    weight_scale: Float64[Tensor, "m k"]
    bias_scale: Float64[Tensor, "m"]
    weight_error: Float64[Tensor, "m k"]
    bias_error: Float64[Tensor, "m"]
    shrinkage: float

    @property
    def inputs(self) -> int:
        """k, how many numbers the layer reads."""
        return self.weight.shape[-1]

    @property
    def outputs(self) -> int:
        """m, the number of neurons."""
        return len(self.bias)

    @property
    def independent(self) -> bool:
        """Every weight has its own normal."""
        return True

    @property
    def fixed_weights(self) -> bool:
        """Whether all weights have the scale 0."""
        return not bool(self.weight_scale.any())

    @property
    def fixed(self) -> bool:
        """Whether all weights and biases have the scale 0."""
        return self.fixed_weights and not bool(self.bias_scale.any())

    def product(
        self, rows: Float64[Tensor, "*batch m"]
    ) -> tuple[Float64[Tensor, "*batch k"], Float64[Tensor, "*batch k"]]:
        """B M for rows B, and a bound of its distance from B M*."""
        own = _once(rows)
        size, shape = own.abs(), (*rows.shape[:-1], self.inputs)
        error = rounding_error(self.outputs + 2, size @ self.weight.abs()) + size @ self.weight_error
        return (own @ self.weight).expand(shape), above(error, self.outputs + 2).expand(shape)

    def offset(
        self, rows: Float64[Tensor, "*batch m"]
    ) -> tuple[Float64[Tensor, "*batch"], Float64[Tensor, "*batch"]]:
        """B·m for rows B, and a bound of its distance from B·m*."""
        size = rows.abs()
        error = rounding_error(self.outputs + 2, size @ self.bias.abs()) + size @ self.bias_error
        return rows @ self.bias, above(error, self.outputs + 2)

    def noise(self, rows: Float64[Tensor, "*batch m"]) -> "IndependentNoise":
        """Upper bounds of the deviations of B W̃ and B·b̃: √Σ_j B_j² S_jk² and √Σ_j B_j² s_j².

        The exact ones are at most `looseness` of these smaller: the law's error, and several times that
        of the roundings and of an underflow. B_j² is rounded up: a large scale would multiply what its
        underflow loses.
        """
        own, shape, roundings = _once(rows), rows.shape[:-1], self.outputs + 4
        square = up(own * own)
        weight = above(square @ (self.weight_scale * self.weight_scale), roundings)
        bias = above(square @ (self.bias_scale * self.bias_scale), roundings)
        return IndependentNoise(up(weight.sqrt()).expand(*shape, self.inputs), up(bias.sqrt()).expand(shape))

    def looseness(self, deviation: Float64[Tensor, "*batch"]) -> Float64[Tensor, "*batch"]:
        """A bound of what the deviations of `noise` exceed the exact ones by."""
        widest = torch.maximum(self.weight_scale.amax(), self.bias_scale.amax()).clamp(min=1.0)
        return (self.shrinkage + gamma(16 * (self.outputs + 8))) * deviation + UNDERFLOW * widest

    def ceiling(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P m"]:
        """A crude bound of |W h + b|, for inputs up to h and normals up to `MAX_NORMAL`."""
        weight = self.weight.abs() + self.weight_error + MAX_NORMAL * self.weight_scale
        bias = self.bias.abs() + self.bias_error + MAX_NORMAL * self.bias_scale
        return above(h @ weight.mT + bias, len(weight.mT) + 8)

    def at(self, x: Float64[Tensor, "P k"]) -> Outputs:
        """The outputs at a point x: μ = M x + m, t² = Σ_k S_jk² x_k² + s_j².

        x_k² is rounded up: a large scale would multiply what its underflow loses. An output of scales 0 alone
        has t = 0. Any other whose bias is fixed may have a t so small that its square underflows, which is
        charged beside the scales.
        """
        terms = self.inputs + 1
        mean = x @ self.weight.mT + self.bias
        magnitude = x.abs() @ self.weight.abs().mT + self.bias.abs()
        inexact = x.abs() @ self.weight_error.mT + self.bias_error
        square = self.weight_scale * self.weight_scale
        variance = up(x * x) @ square.mT + self.bias_scale * self.bias_scale
        deviation = up(above(variance, terms + 4).sqrt())
        loose = (self.shrinkage + rounding_error(8 * (terms + 8), torch.ones_like(deviation))) * deviation
        widest, biased = self.weight_scale.amax(-1), self.bias_scale > 0
        if not biased.all():
            random = (x != 0).to(x.dtype) @ (self.weight_scale > 0).to(x.dtype).mT > 0
            deviation = torch.where(biased | random, deviation, 0.0)
            widest = torch.where(biased, widest, widest.clamp(min=1.0))
        loose = loose + UNDERFLOW * widest
        error = above(rounding_error(terms + 1, magnitude) + inexact + MAX_NORMAL * loose, terms + 8)
        return Outputs(mean, deviation, error)

    def movement(
        self,
        rows: Float64[Tensor, "P R m"],
        radius: Float64[Tensor, "P k"],
        u: Float64[Tensor, "P"],
        shaking: Float64[Tensor, "P R m"] | None = None,
    ) -> Float64[Tensor, "P R"]:
        """A bound of E_N sup |(B + N) W v| over |v| ≤ δ, for rows B: one event a row (soundness.md, 9.3).

        Without N it is Σ_k δ_k |m_k + r_k Z_k|, m = B M, r_k² = Σ_j B_j² S_jk²: folded normals, and a convex
        function of the weights, Lipschitz with ‖δ∘r‖. Normals N_j of deviations q_j add
        Σ_j q_j² (M_jk² + S_jk²) to r_k², and with τ_k = max_j q_j max_j S_jk they add Σ_k δ_k τ_k / π to the
        mean and Σ_k δ_k² τ_k² to the square of the constant. Sums over inputs come first where they can. What
        an underflow may hide is added before.

        Args:
            rows: B.
            radius: δ.
            u: the width of the events.
            shaking: q; None for none.
        """
        if not radius.any():
            return torch.zeros_like(radius[:, :1]).repeat(1, rows.shape[-2])
        rows = _once(rows)
        size, square, scales = rows.abs(), up(rows * rows), self.weight_scale * self.weight_scale
        outputs, inputs = self.weight.shape
        hidden = up(gamma(2 * (outputs + 2)) * self.weight.abs() + self.weight_error)
        underflow = inputs * SMALLEST_NORMAL
        inexact = _over_inputs(size, (radius @ hidden.mT).add_(underflow))
        widths = (up(radius * radius) @ scales.mT).add_(underflow)
        lipschitz = _over_inputs(square, widths)
        if shaking is not None:
            widest, steepest = up(radius * self.weight_scale.amax(0)), shaking.amax(-1)
            lipschitz = lipschitz + up(steepest * norm_up(widest).unsqueeze(-1)).square()
            inexact = inexact + steepest * widest.sum(-1, keepdim=True) / math.pi
        mean = self._folded(rows, radius, shaking)
        noise = u.unsqueeze(-1) * up(above(lipschitz, outputs + inputs + 16).sqrt())
        return above(mean + inexact + noise, 2 * outputs + inputs + ROUNDINGS + 32)

    def _folded(
        self,
        rows: Float64[Tensor, "P_or_1 R m"],
        radius: Float64[Tensor, "P k"],
        shaking: Float64[Tensor, "P R m"] | None,
    ) -> Float64[Tensor, "P R"]:
        """Σ_k δ_k E |m_k + r_k Z_k|, as in `movement`: P R k numbers, so some properties at a time."""
        scales, weight = self.weight_scale * self.weight_scale, up(self.weight.abs() + self.weight_error)
        underflow = self.outputs * SMALLEST_NORMAL

        def mean_of(own: Tensor, shaken: Tensor | None) -> Tensor:
            variance = (up(own * own) @ scales).add_(underflow)
            if shaken is not None:
                variance = variance + up(shaken * shaken) @ (weight * weight + scales + SMALLEST_NORMAL)
            return folded_mean((own @ self.weight).abs_().add_(underflow), variance.sqrt_())

        if len(rows) == 1 and shaking is None:
            return _over_inputs(mean_of(rows, None), radius)
        rows = rows.expand(len(radius), -1, -1)
        total = torch.empty_like(rows[..., 0])
        for at in in_blocks((len(rows), rows.shape[-2]), self.inputs, rows.device):
            shaken = None if shaking is None else shaking[at]
            total[at] = _over_inputs(mean_of(rows[at], shaken), radius[at[0]])
        return total

    def spread_inputs(
        self, rows: Float64[Tensor, "P R m"], inputs: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """About Σ_j δ_j √Σ_k B_k² W_kj², from above but for rounding and for Q(u).

        It is a function of the weights W = M + S∘Z with a Lipschitz constant of
        √Σ_j δ_j² max_k (B_k S_kj)² and a mean of at most Σ_j δ_j √Σ_k B_k² (M_kj² + S_kj²). The caller
        charges for the roundings.

        Args:
            rows: B ≥ 0.
            inputs: δ.
            u: the width of the event.
        """
        weight = up(self.weight.abs() + self.weight_error)
        square = weight * weight + self.weight_scale * self.weight_scale
        variance = (up(rows * rows) @ square).add_((self.outputs + 8) * SMALLEST_NORMAL)
        columns = variance.sqrt_() @ inputs.unsqueeze(-1)
        largest = rows.amax(-1) * norm_up(inputs * self.weight_scale.amax(0)).unsqueeze(-1)
        return columns.squeeze(-1) + u.unsqueeze(-1) * largest


def _once(rows: Float64[Tensor, "*batch m"]) -> Float64[Tensor, "*batch_or_1 m"]:
    """The rows of one property, where they are the same for all; else the rows as they are."""
    return rows[:1] if rows.dim() == 3 and rows.stride(0) == 0 else rows


def _over_inputs(
    values: Float64[Tensor, "P_or_1 R k"], inputs: Float64[Tensor, "P k"]
) -> Float64[Tensor, "P R"]:
    """Σ_k v_k δ_k."""
    return torch.einsum("prk,pk->pr", values, inputs)
