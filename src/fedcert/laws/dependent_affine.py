"""A layer whose weights and biases are jointly normal: a sum of independent parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.affine import MAX_NORMAL, MovedInputs, Outputs
from fedcert.laws.covariance import Covariance
from fedcert.laws.independent_noise import MEAN_OF_A_NORMAL
from fedcert.laws.noise_parts import NoisePart, PartNoise, coefficients
from fedcert.numerics.folded import ROUNDINGS, folded_mean
from fedcert.numerics.rounding import above, below, down, rounding_error, up


@dataclass(frozen=True)
class DependentAffine:
    """W h + b with jointly normal W and b.

    The exact law has means within the given errors of `weight` and `bias`.

    Attributes:
        weight: M.
        bias: m.
        weight_error: bound of |M* − M| for the exact mean M*.
        bias_error: bound of |m* − m|.
        parts: independent of each other; their sum is the noise.
    """

    weight: Float64[Tensor, "m k"]
    bias: Float64[Tensor, "m"]
    weight_error: Float64[Tensor, "m k"]
    bias_error: Float64[Tensor, "m"]
    parts: tuple[NoisePart, ...]

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
        """Nothing is known of it."""
        return False

    @property
    def fixed(self) -> bool:
        """Whether there is no noise."""
        return not self.parts

    @cached_property
    def fixed_weights(self) -> bool:
        """Whether no part says anything of the weights."""
        return all(part.fixed_weights for part in self.parts)

    @cached_property
    def weight_deviation(self) -> Float64[Tensor, "m k"]:
        """Bounds of the deviations of the weights."""
        return root_of_squares([part.weight_deviation for part in self.parts], self.weight)

    @cached_property
    def bias_deviation(self) -> Float64[Tensor, "m"]:
        """Bounds of the deviations of the biases."""
        return root_of_squares([part.bias_deviation for part in self.parts], self.bias)

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

    def noise(self, rows: Float64[Tensor, "P R m"]) -> "DependentNoise":
        """B·(W̃ h + b̃) for rows B."""
        return DependentNoise(rows, self.inputs, tuple(part.noise(rows) for part in self.parts))

    def ceiling(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P m"]:
        """A crude bound of |W h + b|, for inputs up to h and normals up to `MAX_NORMAL`."""
        weight = self.weight.abs() + self.weight_error + MAX_NORMAL * self.weight_deviation
        bias = self.bias.abs() + self.bias_error + MAX_NORMAL * self.bias_deviation
        return above(h @ weight.mT + bias, len(weight.mT) + 8)

    def at(self, x: Float64[Tensor, "P k"]) -> Outputs:
        """The means at a point x with their error, and bounds of the deviations."""
        terms = self.inputs + 1
        mean = x @ self.weight.mT + self.bias
        magnitude = x.abs() @ self.weight.abs().mT + self.bias.abs()
        inexact = x.abs() @ self.weight_error.mT + self.bias_error
        unit = torch.eye(self.outputs, dtype=x.dtype, device=x.device).expand(len(x), -1, -1)
        error = above(rounding_error(terms + 1, magnitude) + inexact, terms + 8)
        return Outputs(mean, self.noise(unit).at(x), error)

    def movement(
        self, rows: Float64[Tensor, "P R m"], radius: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """A bound of |B W v| over |v| ≤ δ, for rows B, that is Σ_k δ_k |(B M)_k + N_k|; one event a row.

        Its mean is a sum of those of folded normals, whatever the dependence of the N_k, and it is convex and
        Lipschitz in the normals behind them with the constant of `DependentNoise.over`.
        """
        mean, error = self.product(rows)
        noise = self.noise(rows)
        folded = folded_mean(up(mean.abs() + error), noise.weight)
        average = (folded * radius.unsqueeze(-2)).sum(-1)
        return above(average + u.unsqueeze(-1) * noise.steepest(radius), self.inputs + ROUNDINGS + 8)

    def spread_inputs(
        self, rows: Float64[Tensor, "P R m"], inputs: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """About Σ_j δ_j √Σ_k B_k² W_kj², from above but for rounding and for Q(u).

        Its mean is at most Σ_j δ_j √Σ_k B_k² (M_kj² + d_kj²), by Jensen's inequality. Each W_kj is Lipschitz
        in the normals behind it with constant d_kj, so the sum is with Σ_j δ_j Σ_k B_k d_kj. The caller
        charges for the roundings.

        Args:
            rows: B ≥ 0.
            inputs: δ.
            u: the width of the event.
        """
        weight = up(self.weight.abs() + self.weight_error)
        square = weight * weight + self.weight_deviation * self.weight_deviation
        columns = above(up(rows * rows) @ square, self.outputs + 8).sqrt() @ inputs.unsqueeze(-1)
        steepest = (rows @ self.weight_deviation) @ inputs.unsqueeze(-1)
        return (columns + u[:, None, None] * steepest).squeeze(-1)


@dataclass(frozen=True)
class JoinedDependentAffine(DependentAffine):
    """A layer whose parameters may depend on those of other layers.

    Attributes:
        joint: the covariance of all layers' parameters.
    """

    joint: Covariance

    def coefficients(
        self, rows: Float64[Tensor, "P R m"], h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R n"], Float64[Tensor, "P R n"]]:
        """(B_j h_k)_jk and B: the coefficients of W, row by row, and b in B·(W h + b); nothing cancels."""
        found = coefficients(rows, h)
        return found, torch.zeros_like(found)


@dataclass(frozen=True)
class DependentNoise:
    """Σ_k N_k h_k + N_b for rows B of a layer: N = B W̃ and N_b = B·b̃, jointly normal.

    Attributes:
        rows: B.
        inputs: k.
        parts: what each of the independent parts says; variances add up.
    """

    rows: Float64[Tensor, "P R m"]
    inputs: int
    parts: tuple[PartNoise, ...]

    @cached_property
    def weight(self) -> Float64[Tensor, "P R k"]:
        """Upper bounds r of the deviations of the N_k."""
        like = self.rows[..., :1].expand(-1, -1, self.inputs)
        return root_of_squares([part.weight for part in self.parts], like)

    @cached_property
    def bias(self) -> Float64[Tensor, "P R"]:
        """Upper bounds of the deviation of N_b."""
        return root_of_squares([part.bias for part in self.parts], self.rows[..., 0])

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The deviation at fixed inputs h."""
        return root_of_squares([part.at(h) for part in self.parts], self.rows[..., 0])

    def at_least(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The same, from below: √Σ_t x_t² of the parts."""
        nothing = torch.zeros_like(self.rows[..., 0])
        squares = sum((own * own for own in (part.at_least(h) for part in self.parts)), nothing)
        return down(below(squares, len(self.parts) + 2).sqrt()).clamp(min=0.0)

    def within(self, lower: Float64[Tensor, "P k"], upper: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The deviation at the middle c, and that of N·(h − c) for |h_k − c_k| ≤ ρ_k.

        The deviation is a seminorm of (h, 1), so that of h is at most that of c and that of h − c added up.
        """
        centre = lower + (upper - lower) / 2
        half = up(torch.maximum(upper - centre, centre - lower))
        return up(self.at(centre) + self.steepest(half))

    def over(self, delta: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """A bound of sup |N·v| over |v| ≤ δ, that is Σ_k δ_k |N_k|.

        Its mean is √(2/π) Σ_k δ_k r_k. As a function of the standard normals behind N it is Lipschitz with
        constant c = sup_{|v| ≤ δ} √Var(N·v), and convex: it exceeds its mean by u c but for Q(u).

        Args:
            delta: δ.
            u: the width of the event.
        """
        mean = MEAN_OF_A_NORMAL * (self.weight * delta.unsqueeze(-2)).sum(-1)
        return above(mean + u.unsqueeze(-1) * self.steepest(delta), self.inputs + 4)

    def over_moved(self, moved: MovedInputs, u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """A bound of sup_x |N·v(x)|: that of `over`, on one event, whatever the layers before."""
        return self.over(moved.delta, u)

    def along(self, directions: Float64[Tensor, "P k J"]) -> Float64[Tensor, "P R J"]:
        """Upper bounds of √Var(N·t), for each column t."""
        like = self.rows[..., :1].expand(-1, -1, directions.shape[-1])
        return root_of_squares([part.along(directions) for part in self.parts], like)

    def covariances(
        self, h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"]]:
        """Cov(N_k, N·h + N_b), added up over the parts, and bounds of its error."""
        each = [part.covariances(h) for part in self.parts]
        nothing = torch.zeros_like(self.rows[..., :1]).expand(-1, -1, self.inputs)
        found, lost = sum((own for own, _ in each), nothing), sum((error for _, error in each), nothing)
        size = sum((own.abs() for own, _ in each), nothing)
        return found, above(lost + rounding_error(len(each) + 1, size), len(each) + 2)

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Upper bounds of √Var(N·v) for all |v| ≤ δ.

        Args:
            delta: δ.
        """
        return root_of_squares([part.steepest(delta) for part in self.parts], self.rows[..., 0])


def root_of_squares(parts: Sequence[Tensor], like: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
    """√Σ_t x_t², rounded up; 0 without any parts.

    Args:
        parts: x_t ≥ 0.
        like: a tensor of the same shape.
    """
    if not parts:
        return torch.zeros_like(like)
    if len(parts) == 1:
        return parts[0]
    squares = torch.stack([part * part for part in parts]).sum(0)
    return up(above(squares, len(parts) + 2).sqrt())
