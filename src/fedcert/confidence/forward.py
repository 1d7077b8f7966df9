"""Interval bounds of drawn networks, as centres and radii: two matrix products a layer."""

from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.confidence.chain import OUTWARD, Affine, Chain

ROUNDED = 2.0**-50  # more than one rounding, relatively
FLOOR_OF_ERRORS = 2.0**-900  # more than what underflow may lose


class Region(NamedTuple):
    """Numbers within a radius of a centre; NaN bounds nothing.

    Attributes:
        centre: of shape (B or 1, P, k).
        radius: of the same shape, not negative.
    """

    centre: Float64[Tensor, "B P k"]
    radius: Float64[Tensor, "B P k"]

    @classmethod
    def between(cls, low: Tensor, high: Tensor) -> "Region":
        """The numbers between two ends.

        Args:
            low: the lower ends.
            high: the upper ends.
        """
        centre = (low + high) / 2
        radius = torch.maximum(high - centre, centre - low)
        return cls(centre, radius * (1 + ROUNDED) + ROUNDED * centre.abs())

    @property
    def low(self) -> Tensor:
        """Lower bounds; the radius has room for the rounding."""
        return self.centre - self.radius

    @property
    def high(self) -> Tensor:
        """Upper bounds."""
        return self.centre + self.radius

    @property
    def size(self) -> Float64[Tensor, "B P"]:
        """Σ_j max|h_j|, rounded up."""
        return (self.centre.abs().sum(-1) + self.radius.sum(-1)) * OUTWARD

    def only(self, properties: Tensor) -> "Region":
        """Some of the properties.

        Args:
            properties: which.
        """
        return Region(self.centre[:, properties], self.radius[:, properties])


def through_affine(layer: Affine, h: Region) -> Region:
    """Bounds of W h + b: |W h + b − fl(W c + b)| ≤ |W| r + ρ (‖c‖_1 + ‖r‖_1) + ρ_b.

    Args:
        layer: W and b.
        h: bounds of the inputs.
    """
    centre = _product(h.centre, layer.weight) + layer.bias.unsqueeze(-2)
    spread = _product(h.radius, layer.weight.abs())
    charge = layer.weight_radius[:, None] * h.size + layer.bias_radius[:, None]
    return Region(centre, (spread + charge.unsqueeze(-1)) * OUTWARD + ROUNDED * centre.abs())


def _product(h: Float64[Tensor, "#B P k"], weight: Float64[Tensor, "B m k"]) -> Float64[Tensor, "B P m"]:
    """The product h Wᵀ; one input for all networks needs one large product instead of B small ones."""
    if len(h) == 1 and len(weight) > 1:
        networks, outputs, inputs = weight.shape
        product = h[0] @ weight.reshape(networks * outputs, inputs).mT
        return product.reshape(-1, networks, outputs).movedim(1, 0)
    return h @ weight.mT


def through_relu(y: Region) -> Region:
    """Both ends rectified."""
    return Region.between(y.low.clamp(min=0.0), y.high.clamp(min=0.0))


def input_bounds(chain: Chain, x: Region) -> list[Region]:
    """Bounds of the inputs of every layer, and of the outputs of the last.

    Args:
        chain: the layers.
        x: bounds of the network's inputs.
    """
    bounds = [x]
    for layer in chain:
        bounds.append(through_relu(bounds[-1]) if layer is None else through_affine(layer, bounds[-1]))
    return bounds


def least_outputs(
    z: Region, C: Float64[Tensor, "#B P R K"], d: Float64[Tensor, "#B P R"], rounding: float
) -> tuple[Float64[Tensor, "B P R"], Float64[Tensor, "B P R"]]:
    """C z + d and a bound of what it is off by, for outputs z within bounds.

    Args:
        z: bounds of the outputs.
        C: the constraints.
        d: their offsets.
        rounding: the relative charge for a sum over the outputs.
    """
    value = (C @ z.centre.unsqueeze(-1)).squeeze(-1) + d
    charged = z.radius + rounding * z.centre.abs()
    error = (C.abs() @ charged.unsqueeze(-1)).squeeze(-1) + rounding * d.abs()
    return value, error * OUTWARD + FLOOR_OF_ERRORS
