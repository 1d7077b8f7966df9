"""Backward linear bounds (CROWN) over weight boxes and input boxes, batched over boxes × properties.

From the constraints back to the input, C f_θ(x) + d ≥ A h + c is kept as a lower bound that is linear in a
layer's activations h. Through W h + b, with h ≥ 0, the least coefficient over a weight box is reached at a
corner, A⁺W̲ + A⁻W̄, exactly; through a ReLU a line below or above it replaces it, by the sign of the
coefficient. At the input the bound is minimised over the region. Unlike intervals, it keeps that all
neurons see the same input. Additive noise on pre-activations is a box of biases, and needs nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.errors import UnsupportedLayer
from fedcert.model.network import Linear, Network, ReLU
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import SMALLEST_NORMAL, down, rounding_error, up
from fedcert.verify.interval import Bounds, affine, layer_parameters, proven, region_bounds


@dataclass(frozen=True)
class LinearVerifier:
    """Backward linear bounds for fully connected ReLU networks."""

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> Bool[Tensor, "B P"]:
        """Whether every constraint is proven, for each box and property."""
        return proven(self.margins(network, boxes, properties))

    def margins(self, network: Network, boxes: Box, properties: Properties) -> Float64[Tensor, "B P R"]:
        """Lower bounds of (C f_θ(x) + d)_r over θ in the box and x in the region."""
        layers = _linear_layers(network, boxes)
        x = region_bounds(network, properties.regions)
        hidden = _hidden_bounds(layers, x)
        rows = properties.C.expand(len(boxes), *properties.C.shape[-3:])
        lower = _backward(rows, layers, hidden, x)
        return down(lower + properties.d)


@dataclass(frozen=True)
class _Affine:
    """Bounds of one layer's parameters: W of shape (B, m, k), b of shape (B, m)."""

    weight: Bounds
    bias: Bounds


def _linear_layers(network: Network, boxes: Box) -> list[_Affine]:
    """The affine layers; anything but Linear, ReLU, Linear, … raises."""
    expected = [Linear, ReLU] * len(network.layers)
    for layer, kind in zip(network.layers, expected, strict=False):
        if type(layer) is not kind:
            raise UnsupportedLayer(f"linear bounds are not defined for a {type(layer).__name__} layer here")
    if type(network.layers[-1]) is not Linear:
        raise UnsupportedLayer("linear bounds need a Linear layer at the end, not a ReLU")
    return [_Affine(*parameters) for parameters in layer_parameters(network, boxes) if parameters]


def _hidden_bounds(layers: Sequence[_Affine], x: Bounds) -> list[Bounds]:
    """Bounds of every hidden layer's pre-activations, of shape (B, P, m), layer by layer.

    The first layer's interval bounds are exact; deeper ones are the tighter of interval and backward.
    """
    hidden: list[Bounds] = []
    h = x
    for depth, layer in enumerate(layers[:-1]):
        bounds = affine(layer.weight, layer.bias, h)
        if depth > 0:
            unit = torch.eye(layer.bias.lower.shape[-1], dtype=torch.float64, device=x.lower.device)
            rows = torch.cat([unit, -unit]).expand(*bounds.lower.shape[:2], -1, -1)
            lower, minus_upper = _backward(rows, layers[: depth + 1], hidden, x).chunk(2, dim=-1)
            bounds = Bounds(torch.fmax(bounds.lower, lower), torch.fmin(bounds.upper, -minus_upper))
        hidden.append(bounds)
        h = Bounds(bounds.lower.clamp(min=0.0), bounds.upper.clamp(min=0.0))
    return hidden


def _backward(
    rows: Float64[Tensor, "B P R m"], layers: Sequence[_Affine], hidden: Sequence[Bounds], x: Bounds
) -> Float64[Tensor, "B P R"]:
    """Lower bounds of rows · z for the last of the layers' pre-activations z.

    Coefficients of activations h ≥ 0 may be rounded down. A rounded slope s in [0, 1] is as good as the
    exact one: relu(a) ≤ s a + t on [l, u] for t ≥ max(−s l, (1 − s) u, 0), the ends of a convex function.
    The constants are charged for at the end; the product of a coefficient and a slope counts with
    the size of the pre-activation that it multiplies, and so does what it may lose by underflow.
    """
    coefficients = rows
    constant = torch.zeros_like(rows[..., 0])
    magnitude = torch.zeros_like(constant)
    roundings = 8
    for depth in reversed(range(len(layers))):
        layer = layers[depth]
        positive, negative = coefficients.clamp(min=0.0), coefficients.clamp(max=0.0)
        constant = constant + _times(positive, layer.bias.lower) + _times(negative, layer.bias.upper)
        largest_bias = torch.maximum(layer.bias.lower.abs(), layer.bias.upper.abs())
        magnitude = magnitude + _times(coefficients.abs(), largest_bias)
        roundings += sum(layer.weight.lower.shape[-2:]) + 8
        lower = _corner(positive, negative, layer.weight.lower, layer.weight.upper)
        if depth == 0:
            upper = lower  # at inputs x ≥ 0 the least coefficient gives the least value
            if not (x.lower >= 0).all():
                upper = -_corner(-negative, -positive, layer.weight.lower, layer.weight.upper)
            zero = Bounds(torch.zeros_like(constant), torch.zeros_like(constant))
            least = affine(Bounds(lower, upper), zero, x.unsqueeze(-2)).lower.squeeze(-2)
            error = rounding_error(roundings, magnitude + least.abs())
            return down(constant + least - error)
        low, high = hidden[depth - 1].lower.unsqueeze(-2), hidden[depth - 1].upper.unsqueeze(-2)
        below = ((low >= 0) | (high > -low)).to(low.dtype)  # slope 1 or 0 of a line below the ReLU
        slope = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, high / (high - low))).clamp(0, 1)
        height = torch.maximum(up(-slope * low), up(up(1 - slope) * high)).clamp(min=0.0)
        largest = torch.maximum(low.abs(), high.abs())
        falling = lower.clamp(max=0.0)
        constant = constant + (falling * height).sum(-1)
        lines = falling.abs() * (height + slope * largest) + SMALLEST_NORMAL * largest
        magnitude = magnitude + lines.sum(-1)
        coefficients = lower.clamp(min=0.0) * below + falling * slope
    raise UnsupportedLayer("a network without layers")


def _times(rows: Float64[Tensor, "B P R m"], vector: Float64[Tensor, "B m"]) -> Float64[Tensor, "B P R"]:
    """Rows times a vector, for each box."""
    return (rows @ vector[:, None, :, None]).squeeze(-1)


def _corner(
    positive: Float64[Tensor, "B P R m"],
    negative: Float64[Tensor, "B P R m"],
    lower: Float64[Tensor, "B m k"],
    upper: Float64[Tensor, "B m k"],
) -> Float64[Tensor, "B P R k"]:
    """The least of A W over a weight box, A⁺W̲ + A⁻W̄, rounded down."""
    pos, neg = positive.flatten(1, 2), negative.flatten(1, 2)
    value = pos @ lower + neg @ upper
    error = rounding_error(2 * lower.shape[-2] + 4, (pos - neg) @ torch.maximum(lower.abs(), upper.abs()))
    return down(value - error).reshape(*positive.shape[:3], lower.shape[-1])
