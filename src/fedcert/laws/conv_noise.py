"""What rows of a network see of a convolution's noise."""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.affine import MovedInputs
from fedcert.laws.independent_noise import MEAN_OF_A_NORMAL
from fedcert.model.layers import Conv2d
from fedcert.numerics.rounding import above, rounding_error, up


@dataclass(frozen=True)
class ConvNoise:
    """B·(W̃ h + b̃) = Σ_oκ W̃_oκ T_oκ + Σ_o b̃_o Σ_l B_ol with T_oκ = Σ_l B_ol h_(window(l, κ)), for rows B.

    For fixed h it is normal with the variance Σ_oκ S_oκ² T_oκ² + Σ_o s_o² (Σ_l B_ol)².

    Attributes:
        layer: the convolution.
        weight_scale: S.
        bias_scale: s.
        rows: B.
    """

    layer: Conv2d
    weight_scale: Float64[Tensor, "G o K"]
    bias_scale: Float64[Tensor, "G o"]
    rows: Float64[Tensor, "P R m"]

    @cached_property
    def fixed_weights(self) -> bool:
        """Whether S = 0: nothing is random then but the biases."""
        return not bool(self.weight_scale.any())

    @property
    def places(self) -> int:
        """L, the number of positions of the kernel."""
        return prod(self.layer.windows.positions)

    @cached_property
    def weight(self) -> Float64[Tensor, "P R k"]:
        """Upper bounds of the deviations of (B W̃)_k: a window sees a pixel once, no weight counts twice."""
        if self.fixed_weights:
            return self.rows.new_zeros(*self.rows.shape[:-1], self.layer.inputs)
        scales = self.weight_scale * self.weight_scale
        variance = onto_pixels(self.layer, up(self.rows * self.rows), scales)
        return up(above(variance, terms_onto_pixels(self.layer) + 3).sqrt())

    @cached_property
    def bias(self) -> Float64[Tensor, "P R"]:
        """Upper bounds of the deviation of B·b̃."""
        if not self.bias_scale.any():
            return torch.zeros_like(self.rows[..., 0])
        each = by_filter(self.layer, self.rows)
        error = rounding_error(self.places, each.abs().sum(-1))
        total = up(each.sum(-1).abs() + error)
        scales = self.bias_scale * self.bias_scale
        variance = (up(total * total) * scales).sum((-1, -2))
        return up(above(variance, scales.numel() + 4).sqrt())

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """√(Σ S² T² + r_b²)."""
        return self.bias if self.fixed_weights else self._deviation(self._forms(h), self.bias)

    def within(self, lower: Float64[Tensor, "P k"], upper: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The deviation at the middle c, and `steepest` for |h − c| ≤ ρ: it is a seminorm of (h, 1)."""
        centre = lower + (upper - lower) / 2
        half = up(torch.maximum(upper - centre, centre - lower))
        return up(self.at(centre) + self.steepest(half))

    def over(self, delta: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """A bound of sup |B W̃ v| over |v| ≤ δ, that is Σ_k δ_k |(B W̃)_k|.

        Its mean is √(2/π) Σ_k δ_k r_k. As a function of the standard normals behind W̃ it is convex and
        Lipschitz with the constant `steepest`, so that it exceeds its mean by u times as much but for Q(u).

        Args:
            delta: δ.
            u: the width of the event.
        """
        if self.fixed_weights:
            return torch.zeros_like(self.rows[..., 0])
        mean = MEAN_OF_A_NORMAL * torch.einsum("prk,pk->pr", self.weight, delta)
        return above(mean + u.unsqueeze(-1) * self.steepest(delta), self.layer.inputs + 6)

    def over_moved(self, moved: MovedInputs, u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """A bound of sup_x |B W̃ v(x)|: that of `over`, on one event, whatever the layers before."""
        return self.over(moved.delta, u)

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """√Σ_oκ S_oκ² (Σ_l |B_ol| δ_(window(l, κ)))²: at least the deviation of B W̃ v for all |v| ≤ δ.

        Args:
            delta: δ.
        """
        nothing = torch.zeros_like(self.rows[..., 0])
        if self.fixed_weights:
            return nothing
        reaches = above(self._sums(self.rows.abs(), delta), self.places + 1)
        return self._deviation(reaches, nothing)

    def _forms(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P G R o K"]:
        """Upper bounds of |T_oκ(h)|."""
        error = rounding_error(self.places + 1, self._sums(self.rows.abs(), h.abs()))
        return up(self._sums(self.rows, h).abs() + error)

    def _sums(
        self, rows: Float64[Tensor, "P R m"], h: Float64[Tensor, "P k"]
    ) -> Float64[Tensor, "P G R o K"]:
        """T in floating point: L products for each weight."""
        each = by_filter(self.layer, rows).movedim(1, 2)
        found: Tensor = each.flatten(2, 3) @ self.layer.windows.gather(h)
        forms: Tensor = found.unflatten(2, each.shape[2:4])
        return forms

    def _deviation(
        self, size: Float64[Tensor, "P G R o K"], bias: Float64[Tensor, "P R"]
    ) -> Float64[Tensor, "P R"]:
        """√(Σ S² T² + r_b²), from above; T² is rounded up, since a large scale multiplies it."""
        scales = (self.weight_scale * self.weight_scale).unsqueeze(1)
        variance = (up(size * size) * scales).sum((-1, -2)).sum(1) + bias * bias
        return up(above(variance, scales.numel() + 6).sqrt())


def by_filter(layer: Conv2d, rows: Float64[Tensor, "*batch m"]) -> Float64[Tensor, "*batch G o L"]:
    """Rows with an entry for each group, filter and position.

    Args:
        layer: a convolution.
        rows: with an entry for each of its neurons.
    """
    each: Tensor = rows.unflatten(-1, (layer.groups, layer.filters // layer.groups, -1))
    return each


def onto_pixels(
    layer: Conv2d, rows: Float64[Tensor, "*batch m"], kernel: Float64[Tensor, "G o K"]
) -> Float64[Tensor, "*batch k"]:
    """Σ_j B_j w_jk for the matrix of all neurons, whose entries are those of a kernel.

    Args:
        layer: the convolution.
        rows: B.
        kernel: group by group.
    """
    return layer.windows.scatter(by_filter(layer, rows).mT @ kernel)


def terms_onto_pixels(layer: Conv2d) -> int:
    """The roundings of one term in `onto_pixels`: of a sum over the filters of a group, and over windows."""
    return layer.filters // layer.groups + layer.windows.overlap + 2
