"""Backward linear bounds of single networks in the precision of their parameters: for estimates alone.

Only rows of coefficients travel: one matrix product a layer for all constraints, where an attack needs two
for each of its steps.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fedcert.model.layers import Affine, ReLU
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.verify.open_pairs import packed

HELD_ELEMENTS = 2**26  # coefficients of inputs that are held at a time


def shows_safe_backward(
    network: Network, theta: Float[Tensor, "B n_w"], properties: Properties, tried: Bool[Tensor, "B P"]
) -> Bool[Tensor, "B P"]:
    """Whether the constraints, carried back to the input, are seen to hold, rounding apart.

    C f(x) + d ≥ a · x + e on the region, with a line below or above each rectifier; the least value over a
    region around c of radius r is a · c − |a| · r + e. Layers other than affine ones and rectifiers show
    nothing.

    Args:
        network: f.
        theta: the parameters of B networks.
        properties: P properties.
        tried: the pairs to look at.
    """
    if not all(isinstance(layer, Affine | ReLU) for layer in network.layers):
        return torch.zeros_like(tried)
    size = max(1, HELD_ELEMENTS // (len(theta) * properties.C.shape[-2] * network.inputs))
    parts = [slice(start, start + size) for start in range(0, len(properties), size)]
    return torch.cat([_shown(network, theta, properties[part], tried[:, part]) for part in parts], -1)


def _shown(
    network: Network, theta: Float[Tensor, "B n_w"], properties: Properties, tried: Bool[Tensor, "B P"]
) -> Bool[Tensor, "B P"]:
    """The same for properties whose coefficients are held at once."""
    shown = torch.zeros_like(tried)
    rows, columns, used = packed(tried)
    if len(rows) == 0:
        return shown
    lower, upper, C, d = (
        part.to(theta.dtype)[columns]
        for part in (properties.regions.lower, properties.regions.upper, properties.C, properties.d)
    )
    parameters = network.unflatten(theta[rows])
    bounds = [((lower + upper) / 2, (upper - lower) / 2)]
    for layer, own in zip(network.layers[:-1], parameters, strict=False):
        bounds.append(layer.points(own, *bounds[-1]))
    for layer, own, (centre, radius) in zip(
        reversed(network.layers), reversed(parameters), reversed(bounds), strict=True
    ):
        if isinstance(layer, Affine):
            weight, bias = layer.matrix(own)
            d = d + torch.einsum("bnrk,bk->bnr", C, bias)
            C = (C.flatten(1, 2) @ weight).unflatten(1, C.shape[1:3])
        else:
            C, d = _through_relu(C, d, centre - radius, centre + radius)
    centre, radius = bounds[0]
    least = (C @ centre.unsqueeze(-1) - C.abs() @ radius.unsqueeze(-1)).squeeze(-1) + d
    safe = (least >= 0).all(-1) & used
    shown[rows[:, None].expand_as(columns)[safe], columns[safe]] = True
    return shown


def _through_relu(
    C: Float[Tensor, "B n R k"],
    d: Float[Tensor, "B n R"],
    low: Float[Tensor, "B n k"],
    high: Float[Tensor, "B n k"],
) -> tuple[Float[Tensor, "B n R k"], Float[Tensor, "B n R"]]:
    """The chord above for falling coefficients, the nearer of 0 and y below for rising ones."""
    slope = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, high / (high - low)))
    height = torch.where((low < 0) & (high > 0), -slope * low, 0.0)
    below = (high > -low).to(low.dtype)
    falling = C.clamp(max=0.0)
    rest = (falling @ height.unsqueeze(-1)).squeeze(-1)
    return C.clamp(min=0.0) * below.unsqueeze(-2) + falling * slope.unsqueeze(-2), d + rest
