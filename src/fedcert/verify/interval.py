"""Interval bound propagation over weights and inputs, batched over boxes × properties."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.errors import ShapeMismatch
from fedcert.model.layers import Affine
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.interval import Bounds, affine
from fedcert.numerics.rounding import down, rounding_error


@dataclass(frozen=True)
class IntervalVerifier:
    """The paper's test: lower bounds of C z + d from an interval [z̲, z̄] for each output.

    For a robustness property that is z̲_c − z̄_r ≥ δ for all r ≠ c.

    Examples:
        >>> from fedcert import linf_robustness, mlp
        >>> asked = linf_robustness([[0.5]], [0], 0.1, classes=2)
        >>> theta = Box.around(torch.tensor([[1.0, 0.0, 0.0, 0.0]]).double(), 0.01)  # f(x) is about (x, 0)
        >>> IntervalVerifier()(mlp(1, 2), theta, asked).item()
        True
    """

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> Bool[Tensor, "B P"]:
        """Whether every constraint is proven, for each box and property."""
        return proven(self.margins(network, boxes, properties))

    def margins(self, network: Network, boxes: Box, properties: Properties) -> Float64[Tensor, "B P R"]:
        """Lower bounds of (C f_θ(x) + d)_r over θ in the box and x in the region."""
        return constraints(properties, output_bounds(network, boxes, properties.regions))


@dataclass(frozen=True)
class MergedIntervalVerifier:
    """Merges C into an affine last layer, so that constraints see that outputs share their activations.

    C (W h + b) + d = (C W) h + (C b + d), with an interval for each entry of C W. The result is the
    larger of this bound and the paper's, so that it is never looser, rounding included.

    Examples:
        >>> from fedcert import linf_robustness, mlp
        >>> asked = linf_robustness([[0.5]], [0], 0.1, classes=2)
        >>> theta = Box.around(torch.tensor([[2.0, 2.0, 0.1, 0.0]]).double(), 0.01)  # about (2x + 0.1, 2x)
        >>> verifiers = IntervalVerifier(), MergedIntervalVerifier()
        >>> [verifier(mlp(1, 2), theta, asked).item() for verifier in verifiers]
        [False, True]
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
            h = layer.interval(own, h)
        margins = constraints(properties, last.interval(parameters, h))
        if not isinstance(last, Affine):
            return margins
        weight, bias = last.matrix(parameters)
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
        bounds = layer.interval(parameters, bounds)
    return bounds


def constraints(properties: Properties, z: Bounds) -> Float64[Tensor, "B P R"]:
    """Lower bounds of C z + d for z within bounds of shape (B, P, K): C⁺ z̲ + C⁻ z̄ + d, rounded down."""
    C, d, low, high = properties.C, properties.d, z.lower.unsqueeze(-2), z.upper.unsqueeze(-2)
    value = (C.clamp(min=0.0) * low).add_(C.clamp(max=0.0) * high).sum(-1) + d
    largest = (C.abs() * torch.maximum(low.abs(), high.abs())).sum(-1) + d.abs()
    return down(value - rounding_error(2 * C.shape[-1] + 4, largest))


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
