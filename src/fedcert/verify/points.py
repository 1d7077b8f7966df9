"""Interval bounds of single networks in the precision of their parameters: for estimates, not for proofs."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fedcert.model.layers import Affine, Layer
from fedcert.model.network import Network
from fedcert.model.properties import Properties

DOUBT = 2.0**-12  # in the size of the outputs: far more than single precision loses


def accepts(network: Network, theta: Float[Tensor, "B n_w"], properties: Properties) -> Bool[Tensor, "B P"]:
    """Whether interval bounds over the region show each network safe, rounding apart.

    With weights that are points, the interval around a centre c of radius r becomes W c + b ± |W| r: two
    matrix products a layer. Up to rounding the verdicts are those of the `IntervalVerifier`.

    Args:
        network: f.
        theta: the parameters of B networks.
        properties: the properties.
    """
    outputs = _through(network.layers, network.unflatten(theta), properties, theta.dtype)
    return (_least(properties, *outputs) >= 0).all(-1)


def accepts_in_double(
    network: Network, theta: Float[Tensor, "B n_w"], properties: Properties
) -> Bool[Tensor, "B P"]:
    """The same in double precision; networks in single precision are only decided there if they are close.

    Args:
        network: f.
        theta: the parameters of B networks.
        properties: the properties.
    """
    if theta.dtype == torch.float64:
        return accepts(network, theta, properties)
    centre, radius = _through(network.layers, network.unflatten(theta), properties, theta.dtype)
    least, size = _least(properties, centre, radius), (centre.abs() + radius).amax((-2, -1))
    clear = (least.abs() > DOUBT * size[:, None, None]).all(-1).all(-1)
    accepted = (least >= 0).all(-1)
    accepted[~clear] = accepts(network, theta[~clear].double(), properties)
    return accepted


def shows_safe(
    network: Network, theta: Float[Tensor, "B n_w"], properties: Properties
) -> Bool[Tensor, "B P"]:
    """The same with the constraints merged into an affine last layer, as `MergedIntervalVerifier` does.

    C (W h + b) + d = (C W) h + C b + d: constraints see that outputs share their activations.

    Args:
        network: f.
        theta: the parameters of B networks.
        properties: the properties.
    """
    *before, last = network.layers
    *before_parameters, parameters = network.unflatten(theta)
    h = _through(before, before_parameters, properties, theta.dtype)
    if not isinstance(last, Affine):
        return (_least(properties, *last.points(parameters, *h)) >= 0).all(-1)
    weight, bias = last.matrix(parameters)
    C, d = properties.C.to(theta.dtype), properties.d.to(theta.dtype)
    rows = torch.einsum("prk,bkh->bprh", C, weight)
    centre, radius = (part.expand(len(theta), -1, -1).unsqueeze(-1) for part in h)
    least = (rows @ centre - rows.abs() @ radius).squeeze(-1) + torch.einsum("prk,bk->bpr", C, bias) + d
    return (least >= 0).all(-1)


def _through(
    layers: Sequence[Layer],
    parameters: Sequence[tuple[Tensor, ...]],
    properties: Properties,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """Centre and radius of the interval of each value behind some layers."""
    low, high = properties.regions.lower, properties.regions.upper
    centre, radius = ((low + high) / 2).to(dtype), ((high - low) / 2).to(dtype)
    for layer, own in zip(layers, parameters, strict=True):
        centre, radius = layer.points(own, centre, radius)
    return centre, radius


def _least(
    properties: Properties, centre: Float[Tensor, "B P K"], radius: Float[Tensor, "B P K"]
) -> Float[Tensor, "B P R"]:
    """The least of C z + d for all outputs z within a radius of a centre."""
    C, d = properties.C.to(centre.dtype), properties.d.to(centre.dtype)
    return torch.einsum("prk,bpk->bpr", C, centre) - torch.einsum("prk,bpk->bpr", C.abs(), radius) + d
