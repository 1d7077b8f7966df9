"""Interval bound propagation over weights and inputs, batched over boxes × properties."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.network import Layer, Linear, Network, ReLU
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import down, rounding_error, up

CORRECTION_ELEMENTS = 2**22  # products held at a time where weight and input both straddle zero


class Bounds(NamedTuple):
    """Lower and upper bounds on the way through a network; NaN where the arithmetic overflowed."""

    lower: Float64[Tensor, "..."]
    upper: Float64[Tensor, "..."]

    def unsqueeze(self, dim: int) -> "Bounds":
        """Both with one more axis."""
        return Bounds(self.lower.unsqueeze(dim), self.upper.unsqueeze(dim))

    def squeeze(self, dim: int) -> "Bounds":
        """Both with one axis of length one less."""
        return Bounds(self.lower.squeeze(dim), self.upper.squeeze(dim))

    def transpose(self) -> "Bounds":
        """Both with their last two axes exchanged."""
        return Bounds(self.lower.mT, self.upper.mT)


@dataclass(frozen=True)
class IntervalVerifier:
    """The paper's test: lower bounds of C z + d from an interval [z̲, z̄] for each output.

    For a robustness property that is z̲_c − z̄_r ≥ δ for all r ≠ c.
    """

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> Bool[Tensor, "B P"]:
        """Whether every constraint is proven, for each box and property."""
        return proven(self.margins(network, boxes, properties))

    def margins(self, network: Network, boxes: Box, properties: Properties) -> Float64[Tensor, "B P R"]:
        """Lower bounds of (C f_θ(x) + d)_r over θ in the box and x in the region."""
        return _constraints(properties, output_bounds(network, boxes, properties.regions))


@dataclass(frozen=True)
class MergedIntervalVerifier:
    """Merges C into the last layer, so that constraints see that outputs share their activations.

    C (W h + b) + d = (C W) h + (C b + d), with an interval for each entry of C W. The result is the
    larger of this bound and the paper's, so that it is never looser, rounding included.
    """

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> Bool[Tensor, "B P"]:
        """Whether every constraint is proven, for each box and property."""
        return proven(self.margins(network, boxes, properties))

    def margins(self, network: Network, boxes: Box, properties: Properties) -> Float64[Tensor, "B P R"]:
        """Lower bounds of (C f_θ(x) + d)_r over θ in the box and x in the region."""
        *before, last = network.layers
        *before_parameters, parameters = layer_parameters(network, boxes)
        h = region_bounds(network, properties.regions)
        for layer, own in zip(before, before_parameters, strict=True):
            h = propagate(layer, own, h)
        margins = _constraints(properties, propagate(last, parameters, h))
        if type(last) is not Linear:
            return margins
        weight, bias = parameters
        C, d = Bounds(properties.C, properties.C), Bounds(properties.d, properties.d)
        zero = torch.zeros_like(properties.d)
        merged_weight = affine(C, Bounds(zero, zero), weight.transpose().unsqueeze(1)).transpose()
        merged_bias = affine(C, d, bias.unsqueeze(1).unsqueeze(1)).squeeze(-2)
        merged = affine(merged_weight, merged_bias, h.unsqueeze(-2)).squeeze(-2)
        return torch.fmax(margins, merged.lower)


def proven(margins: Float64[Tensor, "B P R"]) -> Bool[Tensor, "B P"]:
    """Whether all constraints of a property have a finite lower bound ≥ 0; NaN proves nothing."""
    return ((margins >= 0) & torch.isfinite(margins)).all(-1)


def output_bounds(network: Network, boxes: Box, regions: Box) -> Bounds:
    """Enclose f_θ(x) for all θ in each of B boxes and all x in each of P regions: (B, P, K)."""
    bounds = region_bounds(network, regions)
    for layer, parameters in zip(network.layers, layer_parameters(network, boxes), strict=True):
        bounds = propagate(layer, parameters, bounds)
    return bounds


def propagate(layer: Layer, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
    """Enclose a layer's outputs for all parameters and inputs within bounds.

    By the layer's exact type: a subclass may compute anything, so it is not taken for its parent.
    """
    rule = PROPAGATIONS.get(type(layer))
    if rule is None:
        raise UnsupportedLayer(f"interval bounds are not defined for a {type(layer).__name__} layer")
    return rule(parameters, x)


def _linear(parameters: Sequence[Bounds], x: Bounds) -> Bounds:
    weight, bias = parameters
    return affine(weight, bias, x)


def _relu(parameters: Sequence[Bounds], x: Bounds) -> Bounds:
    return Bounds(x.lower.clamp(min=0.0), x.upper.clamp(min=0.0))


PROPAGATIONS: dict[type, Callable[[Sequence[Bounds], Bounds], Bounds]] = {Linear: _linear, ReLU: _relu}
"""How each type of layer is propagated; a further layer registers itself here."""


def affine(weight: Bounds, bias: Bounds, x: Bounds) -> Bounds:
    """Enclose {x Wᵀ + b}: the sum of exact scalar products, rounded outward.

    The least of the four corner products w x (eq. ibp_min) is, with a⁺ = max(a, 0), a⁻ = min(a, 0),

        w̲⁺x̲⁺ + w̲⁻x̄⁺ + w̄⁺x̲⁻ + w̄⁻x̄⁻ + min(w̲⁻x̄⁺, w̄⁺x̲⁻ in absolute value),

    four matrix products and a correction that vanishes unless w and x both straddle zero (then the
    least product is one of two terms, not their sum); the greatest product likewise.

    Args:
        weight: W, bounds of shape (*batch, m, k).
        bias: b, bounds of shape (*batch, m).
        x: bounds of shape (*batch, n, k).
    """
    k = weight.lower.shape[-1]
    low_w, high_w = weight.lower.mT, weight.upper.mT
    low_w_pos, low_w_neg = low_w.clamp(min=0.0), low_w.clamp(max=0.0)
    high_w_pos, high_w_neg = high_w.clamp(min=0.0), high_w.clamp(max=0.0)
    low_x, high_x = x.lower.clamp(min=0.0), x.upper.clamp(min=0.0)
    lower = low_x @ low_w_pos + high_x @ low_w_neg
    upper = high_x @ high_w_pos + low_x @ high_w_neg
    magnitude = torch.maximum(low_x, high_x) @ torch.maximum(high_w, -low_w)
    if not (x.lower >= 0).all():
        low_x_neg, high_x_neg = x.lower.clamp(max=0.0), x.upper.clamp(max=0.0)
        lower = lower + (low_x_neg @ high_w_pos + high_x_neg @ high_w_neg)
        upper = upper + (high_x_neg @ low_w_pos + low_x_neg @ low_w_neg)
        columns = _straddling(weight) & _straddling(x)
        lower = lower + _smaller_products(-low_w_neg, high_x, high_w_pos, -low_x_neg, columns)
        upper = upper - _smaller_products(high_w_pos, high_x, -low_w_neg, -low_x_neg, columns)
        largest_x = torch.maximum(x.lower.abs(), x.upper.abs())
        magnitude = 3 * (largest_x @ torch.maximum(low_w.abs(), high_w.abs()))
    largest_bias = torch.maximum(bias.lower.abs(), bias.upper.abs()).unsqueeze(-2)
    error = rounding_error(2 * k + 8, magnitude + largest_bias)
    return Bounds(
        down(lower + bias.lower.unsqueeze(-2) - error),
        up(upper + bias.upper.unsqueeze(-2) + error),
    )


def _straddling(bounds: Bounds) -> Bool[Tensor, "k"]:
    """The columns in which some entry's bounds have zero strictly inside."""
    straddles = (bounds.lower < 0) & (bounds.upper > 0)
    return straddles.flatten(0, -2).any(0)


def _smaller_products(
    w: Float64[Tensor, "*wbatch k m"],
    x: Float64[Tensor, "*xbatch n k"],
    w_other: Float64[Tensor, "*wbatch k m"],
    x_other: Float64[Tensor, "*xbatch n k"],
    columns: Bool[Tensor, "k"],
) -> Tensor:
    """Σ_k min(w_k x_k, w'_k x'_k) over the chosen columns, for non-negative factors."""
    chosen = columns.nonzero().squeeze(-1)
    batch = torch.broadcast_shapes(w.shape[:-2], x.shape[:-2])
    total = torch.zeros(*batch, x.shape[-2], w.shape[-1], dtype=x.dtype, device=x.device)
    for part in chosen.split(max(1, CORRECTION_ELEMENTS // max(1, total.numel()))):
        product = x[..., :, part, None] * w[..., None, part, :]
        other = x_other[..., :, part, None] * w_other[..., None, part, :]
        total += torch.minimum(product, other).sum(-2)
    return total


def _constraints(properties: Properties, z: Bounds) -> Float64[Tensor, "B P R"]:
    """Lower bounds of C z + d for z within bounds of shape (B, P, K)."""
    C, d = Bounds(properties.C, properties.C), Bounds(properties.d, properties.d)
    return affine(C, d, z.unsqueeze(-2)).lower.squeeze(-2)


def layer_parameters(network: Network, boxes: Box) -> list[tuple[Bounds, ...]]:
    """Bounds of each layer's parameters, of shapes (B, …)."""
    if boxes.lower.dim() != 2:
        raise ShapeMismatch(f"parameter boxes of shape {tuple(boxes.shape)}, not (boxes, n_w)")
    return [
        tuple(Bounds(low, high) for low, high in zip(lower, upper, strict=True))
        for lower, upper in zip(network.unflatten(boxes.lower), network.unflatten(boxes.upper), strict=True)
    ]


def region_bounds(network: Network, regions: Box) -> Bounds:
    """Bounds of the inputs of each region, checked against the network."""
    if regions.shape[-1] != network.inputs:
        raise ShapeMismatch(f"inputs of length {regions.shape[-1]} for a network of {network.inputs}")
    return Bounds(regions.lower, regions.upper)
