"""Interval bounds of single networks in the precision of their parameters: for estimates, not for proofs."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fedcert.model.network import Network
from fedcert.model.properties import Properties


def accepts(network: Network, theta: Float[Tensor, "B n_w"], properties: Properties) -> Bool[Tensor, "B P"]:
    """Whether interval bounds over the region show each network safe, rounding apart.

    With weights that are points, the interval around a centre c of radius r becomes W c + b ± |W| r: two
    matrix products a layer. Up to rounding the verdicts are those of the `IntervalVerifier`.

    Args:
        network: f.
        theta: the parameters of B networks.
        properties: the properties.
    """
    low, high = properties.regions.lower, properties.regions.upper
    centre, radius = ((low + high) / 2).to(theta.dtype), ((high - low) / 2).to(theta.dtype)
    for layer, parameters in zip(network.layers, network.unflatten(theta), strict=True):
        centre, radius = layer.points(parameters, centre, radius)
    C, d = properties.C.to(theta.dtype), properties.d.to(theta.dtype)
    least = torch.einsum("prk,bpk->bpr", C, centre) - torch.einsum("prk,bpk->bpr", C.abs(), radius) + d
    return (least >= 0).all(-1)
