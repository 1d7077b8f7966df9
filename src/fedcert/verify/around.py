"""Interval bounds of boxes around many parameter vectors, from the better side: only to choose boxes."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.model.layers import Linear
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.interval import Bounds
from fedcert.verify.interval import constraints, proven

SINGLE_PRECISION = 2.0**-20  # of Σ |w x|: more than a sum of thousands of products loses


def may_be_accepted(
    network: Network,
    centres: Float64[Tensor, "N n_w"],
    radii: Sequence[Float64[Tensor, "n_w"]],
    properties: Properties,
) -> Bool[Tensor, "N P G"]:
    """Which boxes c ± r interval bounds may prove safe: any others they would not.

    Interval bounds of a linear first layer, for inputs within δ of x, reach as far as
    |W| δ + r_W (|x| − δ) + r_b from W x + b or farther, of which the last two terms are the same for all
    centres; W x and |W| δ are found in single precision, and what that may lose is left out. Later layers
    are bounded as ever. The smallest boxes come first, then the largest and so on down, each for the
    properties that are still open. A network that begins with another layer is not looked at.

    Args:
        network: f.
        centres: c.
        radii: r, of G boxes around each centre, the smallest first.
        properties: P properties.
    """
    first, *others = network.layers
    accepted = torch.ones(len(centres), len(properties), len(radii), dtype=torch.bool, device=centres.device)
    if not isinstance(first, Linear):
        return accepted
    accepted[:] = False
    low, high = properties.regions.lower, properties.regions.upper
    x, delta = (low + high) / 2, (high - low) / 2
    middle, moved = _first_layer(first, network.unflatten(centres)[0], x, delta)
    left = torch.ones(len(x), dtype=torch.bool, device=x.device)
    for place in (0, *range(len(radii) - 1, 0, -1)):
        if not left.any():
            break
        weight, bias = network.unflatten(radii[place].unsqueeze(0))[0]
        shared = (x[left].abs() - delta[left]).clamp(min=0.0) @ weight[0].mT + bias[0]
        reach = (moved[:, left] + shared).clamp(min=0.0)
        h = Bounds(middle[:, left] - reach, middle[:, left] + reach)
        for layer, parameters in zip(others, _parameters(network, centres, radii[place]), strict=True):
            h = layer.interval(parameters, h)
        verdict = proven(constraints(properties[left], h))
        accepted[:, left, : place + 1] |= verdict.unsqueeze(-1)  # what holds in a box holds in a smaller one
        left = left.masked_scatter(left, verdict.any(0) if place == 0 else ~verdict.all(0))
    return accepted


def _first_layer(
    layer: Linear, parameters: Sequence[Tensor], x: Float64[Tensor, "P p"], delta: Float64[Tensor, "P p"]
) -> tuple[Float64[Tensor, "N P k"], Float64[Tensor, "N P k"]]:
    """W x + b, and |W| δ less what single precision may have lost of both."""
    weight, bias = (own.float() for own in parameters)
    middle, moved = layer.points((weight, bias), x.float(), delta.float())
    size = weight.abs().sum(-1) * (x.abs() + delta).amax() + bias.abs()
    return middle.double(), moved.double() - SINGLE_PRECISION * size.double().unsqueeze(-2)


def _parameters(
    network: Network, centres: Float64[Tensor, "N n_w"], radius: Float64[Tensor, "n_w"]
) -> list[tuple[Bounds, ...]]:
    """Bounds of the parameters of all layers but the first."""
    own = [network.unflatten(vectors)[1:] for vectors in (centres, radius.unsqueeze(0))]
    return [
        tuple(Bounds(c - r, c + r) for c, r in zip(centre, width, strict=True))
        for centre, width in zip(*own, strict=True)
    ]
