"""A Gaussian law of all parameters, layer by layer: W = M + S∘Z, b = m + s∘z."""

from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import UnsupportedLayer
from fedcert.laws import DiagonalGaussian
from fedcert.model.layers import Affine, ReLU
from fedcert.model.network import Network
from fedcert.numerics.rounding import above, gamma, rounding_error, up

FARTHEST = 40.0
"""No standard normal of a network is farther from 0 than this, except with probability `BEYOND`."""
UNDERFLOW = 2.0**-480  # times a scale: far above the square root of a sum of underflows
BEYOND = 2.0**-1000
"""Above 2 n_w Q(40) for any network that fits into a machine: Q(40) < 2^-1159."""


@dataclass(frozen=True)
class NoisyLayer:
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
    def outputs(self) -> int:
        """m, the number of neurons."""
        return len(self.bias)

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

    def deviations(
        self, rows: Float64[Tensor, "*batch m"]
    ) -> tuple[Float64[Tensor, "*batch k"], Float64[Tensor, "*batch"]]:
        """Upper bounds of the deviations of B W̃ and B·b̃: √Σ_j B_j² S_jk² and √Σ_j B_j² s_j².

        The exact ones are at most `looseness` of these smaller: the law's error, and several times that
        of the roundings and of an underflow. B_j² is rounded up: a large scale would multiply what its
        underflow loses.
        """
        square, roundings = up(rows * rows), self.outputs + 4
        weight = above(square @ (self.weight_scale * self.weight_scale), roundings)
        bias = above(square @ (self.bias_scale * self.bias_scale), roundings)
        return up(weight.sqrt()), up(bias.sqrt())

    def looseness(self, deviation: Float64[Tensor, "*batch"]) -> Float64[Tensor, "*batch"]:
        """A bound of what `deviations` exceeds the exact deviation by."""
        widest = torch.maximum(self.weight_scale.amax(), self.bias_scale.amax()).clamp(min=1.0)
        return (self.shrinkage + gamma(16 * (self.outputs + 8))) * deviation + UNDERFLOW * widest

    def ceiling(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P m"]:
        """A crude bound of |W h + b|, for activations up to h and normals up to `FARTHEST`."""
        weight = self.weight.abs() + self.weight_error + FARTHEST * self.weight_scale
        bias = self.bias.abs() + self.bias_error + FARTHEST * self.bias_scale
        return above(h @ weight.mT + bias, len(weight.mT) + 8)


def noisy_layers(network: Network, law: DiagonalGaussian) -> list[NoisyLayer]:
    """The affine layers of a network under a law; anything but affine, ReLU, affine, … raises."""
    for place, layer in enumerate(network.layers):
        if not (isinstance(layer, Affine) if place % 2 == 0 else layer == ReLU()):
            raise UnsupportedLayer(f"projected events are not defined for {layer} here")
    if len(network.layers) % 2 == 0:
        raise UnsupportedLayer(f"projected events need an affine layer at the end, not {network.layers[-1]}")
    error = torch.zeros_like(law.loc) if law.loc_error is None else law.loc_error
    scale = law.scale if law.scale_error == 0 else up(up(law.scale * (1 + 2 * law.scale_error)))
    means, scales, errors = (
        [
            layer.matrix(parameters)
            for layer, parameters in zip(network.layers, network.unflatten(vector), strict=True)
            if isinstance(layer, Affine)
        ]
        for vector in (law.loc, scale, error)
    )
    return [
        NoisyLayer(W, b, S, s, W_error, b_error, 4 * law.scale_error)
        for (W, b), (S, s), (W_error, b_error) in zip(means, scales, errors, strict=True)
    ]
