"""A convolution whose kernel and biases are independent normals: one weight acts at every position."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.affine import MAX_NORMAL, Outputs, RandomAffine
from fedcert.laws.conv_noise import ConvNoise, onto_pixels, terms_onto_pixels
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.model.layers import AvgPool2d, Conv2d
from fedcert.numerics.folded import ROUNDINGS, folded_mean
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, gamma, rounding_error, up


@dataclass(frozen=True)
class ConvAffine:
    """W h + b for a convolution with kernel M + S∘Z and biases m + s∘z, Z and z independent standard normals.

    The exact law has means within the given errors of `weight` and `bias`, and scales of at most the given
    ones (docs/soundness.md, section 15).

    Attributes:
        layer: the convolution.
        weight: M, group by group.
        bias: m.
        weight_scale: S.
        bias_scale: s.
        weight_error: bound of |M* − M| for the exact mean M*.
        bias_error: bound of |m* − m|.
        shrinkage: bound of 1 − S*/S for the exact scale S*.
    """

    layer: Conv2d
    weight: Float64[Tensor, "G o K"]
    bias: Float64[Tensor, "G o"]
    weight_scale: Float64[Tensor, "G o K"]
    bias_scale: Float64[Tensor, "G o"]
    weight_error: Float64[Tensor, "G o K"]
    bias_error: Float64[Tensor, "G o"]
    shrinkage: float = 0.0

    @classmethod
    def mean_pool(cls, layer: AvgPool2d, device: torch.device | str = "cpu") -> "ConvAffine":
        """Means over windows: the kernel 1/K for each channel alone, which is known but for a rounding.

        Args:
            layer: the pooling layer.
            device: of the other layers.
        """
        channels, entries = layer.image[0], prod(layer.kernel)
        weight = torch.full((channels, 1, entries), 1 / entries, dtype=torch.float64, device=device)
        bias = weight.new_zeros(channels, 1)
        own = Conv2d(layer.image, channels, layer.kernel, layer.stride, layer.padding, groups=channels)
        return cls.fixed_at(own, weight, bias, gamma(1) * weight, bias)

    @classmethod
    def fixed_at(
        cls, layer: Conv2d, weight: Tensor, bias: Tensor, weight_error: Tensor, bias_error: Tensor
    ) -> "ConvAffine":
        """A convolution without noise.

        Args:
            layer: the convolution.
            weight: M, group by group.
            bias: m.
            weight_error: bound of |M* − M|.
            bias_error: bound of |m* − m|.
        """
        nothing = torch.zeros_like(weight), torch.zeros_like(bias)
        return cls(layer, weight, bias, *nothing, weight_error, bias_error)

    @property
    def inputs(self) -> int:
        """The number of pixels."""
        return self.layer.inputs

    @property
    def filters(self) -> int:
        """The number of output channels."""
        return self.layer.filters

    @property
    def outputs(self) -> int:
        """The number of neurons."""
        return self.filters * self.places

    @property
    def places(self) -> int:
        """L, the number of positions of the kernel."""
        return prod(self.layer.windows.positions)

    @property
    def independent(self) -> bool:
        """Neurons of one filter share their weights."""
        return False

    @cached_property
    def fixed_weights(self) -> bool:
        """Whether all weights have the scale 0."""
        return not bool(self.weight_scale.any())

    @cached_property
    def fixed(self) -> bool:
        """Whether all weights and biases have the scale 0."""
        return self.fixed_weights and not bool(self.bias_scale.any())

    def on(self, image: tuple[int, int, int]) -> "ConvAffine":
        """The same kernel on another image, without padding: what a part of the neurons see.

        Args:
            image: channels, height and width.
        """
        own = self.layer
        return replace(self, layer=replace(own, image=image, padding=(0, 0)))

    def held(self) -> int:
        """How many numbers a row of its noise holds at a time."""
        return self.inputs + self.outputs + self.weight.numel()

    def at_one_position(self) -> RandomAffine:
        """The neurons of the only position: their weights are independent, and 0 where they see nothing."""
        layer, shape = self.layer, self.layer.shapes

        def matrices(weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
            return layer.unrolled((weight.reshape(shape[0]), bias.reshape(shape[1])))

        (M, m), (S, s), (E, e) = (
            matrices(*own)
            for own in (
                (self.weight, self.bias),
                (self.weight_scale, self.bias_scale),
                (self.weight_error, self.bias_error),
            )
        )
        return DiagonalAffine(M, m, S, s, E, e, self.shrinkage)

    def product(
        self, rows: Float64[Tensor, "*batch m"]
    ) -> tuple[Float64[Tensor, "*batch k"], Float64[Tensor, "*batch k"]]:
        """B M for rows B, and a bound of its distance from B M*."""
        terms = terms_onto_pixels(self.layer)
        charged = up(gamma(2 * terms) * self.weight.abs() + self.weight_error)
        error = onto_pixels(self.layer, rows.abs(), charged) + terms * SMALLEST_NORMAL
        return onto_pixels(self.layer, rows, self.weight), above(error, terms + 2)

    def offset(
        self, rows: Float64[Tensor, "*batch m"]
    ) -> tuple[Float64[Tensor, "*batch"], Float64[Tensor, "*batch"]]:
        """B·m for rows B, and a bound of its distance from B·m*."""
        bias, inexact = (own.flatten().repeat_interleave(self.places) for own in (self.bias, self.bias_error))
        size = rows.abs()
        error = rounding_error(self.outputs + 2, size @ bias.abs()) + size @ inexact
        return rows @ bias, above(error, self.outputs + 2)

    def noise(self, rows: Float64[Tensor, "P R m"]) -> ConvNoise:
        """B·(W̃ h + b̃) for rows B."""
        return ConvNoise(self.layer, self.weight_scale, self.bias_scale, rows)

    def convolved(
        self, x: Float64[Tensor, "P k"], kernel: Float64[Tensor, "G o K"], bias: Float64[Tensor, "G o"]
    ) -> Float64[Tensor, "P m"]:
        """A convolution in floating point; each term passes through K + 2 roundings at most."""
        return (self.layer.windows.gather(x) @ kernel.mT + bias.unsqueeze(-2)).mT.flatten(1)

    def ceiling(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P m"]:
        """A crude bound of |W h + b|, for inputs up to h and normals up to `MAX_NORMAL`."""
        weight = self.weight.abs() + self.weight_error + MAX_NORMAL * self.weight_scale
        bias = self.bias.abs() + self.bias_error + MAX_NORMAL * self.bias_scale
        return above(self.convolved(h, weight, bias), weight.shape[-1] + 8)

    def at(self, x: Float64[Tensor, "P k"]) -> Outputs:
        """The means at a point x with their error, and bounds of each neuron's deviation."""
        terms = self.weight.shape[-1] + 2
        magnitude = self.convolved(x.abs(), self.weight.abs(), self.bias.abs())
        inexact = self.convolved(x.abs(), self.weight_error, self.bias_error)
        error = above(rounding_error(terms, magnitude) + inexact, terms + 8)
        mean = self.convolved(x, self.weight, self.bias)
        if self.fixed:
            return Outputs(mean, torch.zeros_like(mean), error)
        variance = self.convolved(
            up(x * x), self.weight_scale * self.weight_scale, self.bias_scale * self.bias_scale
        )
        return Outputs(mean, up(above(variance, terms + 3).sqrt()), error)

    def movement(
        self, rows: Float64[Tensor, "P R m"], radius: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """A bound of |B W v| over |v| ≤ δ, for rows B, that is Σ_k δ_k |(B M)_k + N_k|; one event a row.

        Its mean is a sum of those of folded normals, whatever the dependence of the N_k, and it is convex and
        Lipschitz in the normals behind them with the constant `steepest`.
        """
        mean, error = self.product(rows)
        size, noise = up(mean.abs() + error), self.noise(rows)
        folded = size if self.fixed_weights else folded_mean(size, noise.weight)
        average = torch.einsum("prk,pk->pr", folded, radius)
        return above(average + u.unsqueeze(-1) * noise.steepest(radius), self.inputs + ROUNDINGS + 8)

    def spread_inputs(
        self, rows: Float64[Tensor, "P R m"], inputs: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """About Σ_j δ_j √Σ_k B_k² W_kj², from above but for rounding and for Q(u).

        Its mean is at most Σ_j δ_j √Σ_k B_k² (M_kj² + S_kj²), by Jensen's inequality. A change ΔZ of the
        normals changes it by Σ_j δ_j Σ_k B_k S_kj |ΔZ_kj| at most, which is `steepest` times ‖ΔZ‖.

        Args:
            rows: B ≥ 0.
            inputs: δ.
            u: the width of the event.
        """
        weight = up(self.weight.abs() + self.weight_error)
        square = weight * weight + self.weight_scale * self.weight_scale + SMALLEST_NORMAL
        terms = terms_onto_pixels(self.layer)
        columns = above(onto_pixels(self.layer, up(rows * rows), square), terms + 8).sqrt()
        spread = torch.einsum("prk,pk->pr", columns, inputs)
        return spread + u.unsqueeze(-1) * self.noise(rows).steepest(inputs)
