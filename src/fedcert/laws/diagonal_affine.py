"""A layer whose weights and biases are independent normals: W = M + S∘Z, b = m + s∘z."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.affine import MAX_NORMAL, UNDERFLOW, MovedInputs, Outputs
from fedcert.numerics.folded import ROUNDINGS, folded_mean
from fedcert.numerics.rectified import second_moment
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, gamma, rounding_error, up

MEAN_OF_A_NORMAL = math.nextafter(math.sqrt(2 / math.pi), 1.0)  # above √(2/π) = E |Z|


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
        size = rows.abs()
        error = rounding_error(self.outputs + 2, size @ self.weight.abs()) + size @ self.weight_error
        return rows @ self.weight, above(error, self.outputs + 2)

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
        square, roundings = up(rows * rows), self.outputs + 4
        weight = above(square @ (self.weight_scale * self.weight_scale), roundings)
        bias = above(square @ (self.bias_scale * self.bias_scale), roundings)
        return IndependentNoise(up(weight.sqrt()), up(bias.sqrt()))

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
        rows = rows[:1] if rows.stride(0) == 0 else rows  # the same for all properties
        size, square, scales = rows.abs(), up(rows * rows), self.weight_scale * self.weight_scale
        outputs, inputs = self.weight.shape
        hidden = up(gamma(2 * (outputs + 2)) * self.weight.abs() + self.weight_error)
        certain = (rows @ self.weight).abs_().add_(outputs * SMALLEST_NORMAL)
        underflow = inputs * SMALLEST_NORMAL
        inexact = _over_inputs(size, (radius @ hidden.mT).add_(underflow))
        variance = (square @ scales).add_(outputs * SMALLEST_NORMAL)
        widths = (up(radius * radius) @ scales.mT).add_(underflow)
        lipschitz = _over_inputs(square, widths)
        if shaking is not None:
            weight = up(self.weight.abs() + self.weight_error)
            variance = variance + up(shaking * shaking) @ (weight * weight + scales + SMALLEST_NORMAL)
            widest, steepest = up(radius * self.weight_scale.amax(0)), shaking.amax(-1)
            lipschitz = lipschitz + up(steepest * norm_up(widest).unsqueeze(-1)).square()
            inexact = inexact + steepest * widest.sum(-1, keepdim=True) / math.pi
        mean = _over_inputs(folded_mean(certain, variance.sqrt_()), radius)
        noise = u.unsqueeze(-1) * up(above(lipschitz, outputs + inputs + 16).sqrt())
        return above(mean + inexact + noise, 2 * outputs + inputs + ROUNDINGS + 32)

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


@dataclass(frozen=True)
class IndependentNoise:
    """Σ_k N_k h_k + N_b for rows B of a layer: N = B W̃ and N_b = B·b̃, independent normals.

    Attributes:
        weight: upper bounds r of the deviations of the N_k.
        bias: upper bounds r_b of the deviation of N_b.
    """

    weight: Float64[Tensor, "*batch k"]
    bias: Float64[Tensor, "*batch"]

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """√(Σ_k r_k² h_k² + r_b²)."""
        at = self.weight * h.unsqueeze(-2)
        square = (at * at).sum(-1) + self.bias * self.bias
        return up(above(square, self.weight.shape[-1] + 4).sqrt())

    def at_rectified(
        self, mean: Float64[Tensor, "P k"], deviation: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """Bounds of √(Σ_k r_k² h_k² + r_b²) for random inputs h_k = relu(μ_k + t_k Z_k), Z_k independent.

        The root is a Lipschitz function of Z with constant max_k r_k t_k, and its mean is at most the root of
        its mean square, so that

            √(Σ r_k² h_k² + r_b²) ≤ √(Σ r_k² E h_k² + r_b²) + u max_k r_k t_k    but for Q(u).

        Both terms grow with μ and t, so upper bounds of these do.

        Args:
            mean: upper bounds of μ.
            deviation: upper bounds of t.
            u: the width of the event.
        """
        moment = second_moment(mean, deviation).unsqueeze(-2)
        terms = self.weight.shape[-1] + 6
        square = above((self.weight * self.weight * moment).sum(-1) + self.bias * self.bias, terms)
        lipschitz = (self.weight * deviation.unsqueeze(-2)).amax(-1)
        return above(square.sqrt() + u.unsqueeze(-1) * lipschitz, 6)

    def within(self, lower: Float64[Tensor, "P k"], upper: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Those at the largest inputs."""
        return self.at(torch.maximum(upper, -lower))

    def over(self, delta: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """A bound of sup |N·v| over |v| ≤ δ, that is Σ_k δ_k |N_k|.

        It is a Lipschitz function of standard normals with constant √Σ δ_k² r_k², so that

            Σ_k δ_k |N_k| ≤ √(2/π) Σ_k δ_k r_k + u √Σ_k δ_k² r_k²    but for Q(u).

        Args:
            delta: δ.
            u: the width of the event.
        """
        widths = self.weight * delta.unsqueeze(-2)
        terms = widths.shape[-1] + 4
        return above(MEAN_OF_A_NORMAL * widths.sum(-1) + u.unsqueeze(-1) * norm_up(widths), terms)

    def over_moved(self, moved: MovedInputs, u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """A bound of sup_x N·v(x) and of sup_x −N·v(x), N independent of the layers before.

        Given the layers before, the supremum is a convex Lipschitz function of N/r with constant
        sup_x ‖r∘v(x)‖ ≤ ‖r∘δ‖. Its conditional mean is at most √(2/π) Σ_k δ_k r_k; and, since v moves by no
        more than L∘(W v'), at most that of N∘L and W v' in the place of N and v (Sudakov and Fernique):

            E sup_x Σ_k N_k L_k (W v'(x))_k ≤ √(2/π) Σ_j δ'_j √Σ_k r_k² L_k² W_kj²,

        which the layer before bounds (`spread_inputs`). That is one event, and each side is another.

        Args:
            moved: v.
            u: the width of the events.
        """
        widths = self.weight * moved.delta.unsqueeze(-2)
        before = moved.layer.spread_inputs(self.weight * moved.steepness.unsqueeze(-2), moved.inputs, u)
        mean = MEAN_OF_A_NORMAL * torch.minimum(widths.sum(-1), before)
        terms = moved.layer.outputs + moved.layer.inputs + 16
        return above(mean + u.unsqueeze(-1) * norm_up(widths), terms)


def norm_up(x: Float64[Tensor, "*batch k"]) -> Float64[Tensor, "*batch"]:
    """An upper bound of ‖x‖."""
    return up(above((x * x).sum(-1), x.shape[-1] + 2).sqrt())


def _over_inputs(
    values: Float64[Tensor, "P_or_1 R k"], inputs: Float64[Tensor, "P k"]
) -> Float64[Tensor, "P R"]:
    """Σ_k v_k δ_k."""
    return torch.einsum("prk,pk->pr", values, inputs)
