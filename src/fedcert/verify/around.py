"""Interval bounds of boxes around many parameter vectors, from the better side: only to choose boxes."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.model.layers import Linear
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.interval import Bounds
from fedcert.verify import pieces
from fedcert.verify.interval import constraints, proven


def may_be_accepted(
    network: Network,
    centres: Float64[Tensor, "N n_w"],
    radii: Sequence[Float64[Tensor, "n_w"]],
    properties: Properties,
) -> Bool[Tensor, "N P G"]:
    """Which boxes c ± r interval bounds may prove safe: any others they would not.

    Interval bounds of a linear first layer, for inputs within δ of x, reach as far as
    |W| δ + r_W (|x| − δ) + r_b from W x + b or farther, of which the last two terms are the same for all
    centres. Later layers are bounded as ever. The smallest boxes come first, then the largest and so on down,
    each for the properties that are still open. A network that begins with another layer is not looked at.

    Args:
        network: f.
        centres: c.
        radii: r, of G boxes around each centre, the smallest first.
        properties: P properties.
    """
    first, *others = network.layers
    if not isinstance(first, Linear):
        shape = len(centres), len(properties), len(radii)
        return torch.ones(shape, dtype=torch.bool, device=centres.device)
    low, high = properties.regions.lower, properties.regions.upper
    x, delta = (low + high) / 2, (high - low) / 2
    found = []
    for part in pieces(centres):
        own = centres[part]
        middle, moved = first.points(network.unflatten(own)[0], x, delta)
        accepted = torch.zeros(len(own), len(x), len(radii), dtype=torch.bool, device=x.device)
        left = torch.ones(len(x), dtype=torch.bool, device=x.device)
        for place in (0, *range(len(radii) - 1, 0, -1)):
            if not left.any():
                break
            weight, bias = network.unflatten(radii[place].unsqueeze(0))[0]
            shared = (x[left].abs() - delta[left]).clamp(min=0.0) @ weight[0].mT + bias[0]
            reach = moved[:, left] + shared
            h = Bounds(middle[:, left] - reach, middle[:, left] + reach)
            for layer, parameters in zip(others, _parameters(network, own, radii[place]), strict=True):
                h = layer.interval(parameters, h)
            verdict = proven(constraints(properties[left], h))
            accepted[:, left, : place + 1] |= verdict.unsqueeze(
                -1
            )  # what holds in a box holds in a smaller one
            left = left.masked_scatter(left, verdict.any(0) if place == 0 else ~verdict.all(0))
        found.append(accepted)
    return torch.cat(found)


def _parameters(
    network: Network, centres: Float64[Tensor, "N n_w"], radius: Float64[Tensor, "n_w"]
) -> list[tuple[Bounds, ...]]:
    """Bounds of the parameters of all layers but the first."""
    own = [network.unflatten(vectors)[1:] for vectors in (centres, radius.unsqueeze(0))]
    return [
        tuple(Bounds(c - r, c + r) for c, r in zip(centre, width, strict=True))
        for centre, width in zip(*own, strict=True)
    ]
