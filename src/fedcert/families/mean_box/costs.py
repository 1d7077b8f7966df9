"""Linearised costs of widening a box: they choose its shape; no proof relies on them."""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.model.network import Network
from fedcert.model.properties import Properties

FLOOR = 1e-3  # minimum cost, as a share of the mean cost: inactive neurons may become active, so none is free


def log_costs(
    network: Network,
    theta: Float64[Tensor, "n_w"],
    properties: Properties,
    width: Float64[Tensor, "n_w"],
    by_layer: bool,
) -> Float64[Tensor, "P n_w"]:
    """Log of c_d = |∂ smallest constraint / ∂θ_d| · width_d at the centre, scaled to at most 0.

    Args:
        network: f_θ.
        theta: the deployed mean.
        properties: the properties, whose constraints are evaluated at the centres of their regions.
        width: half-width of the image for radii of one deviation.
        by_layer: whether all parameters of one tensor share their mean cost.
    """
    center = (properties.regions.lower + properties.regions.upper) / 2
    parameters = theta.expand(len(properties), -1).clone().requires_grad_()
    f = network(parameters, center.unsqueeze(1)).squeeze(1)
    values = (properties.C @ f.unsqueeze(-1)).squeeze(-1) + properties.d
    (gradient,) = torch.autograd.grad(values.min(-1).values.sum(), parameters)
    cost = gradient.abs() * width
    if by_layer:
        sizes = [math.prod(shape) for layer in network.layers for shape in layer.shapes]
        parts = cost.split(sizes, dim=-1)
        cost = torch.cat([part.mean(-1, keepdim=True).expand_as(part) for part in parts], dim=-1)
    cost = cost + FLOOR * cost.mean(-1, keepdim=True) + 1e-300
    return (cost / cost.max(-1, keepdim=True).values).log()
