"""Deployed networks of some draws: the rule's image of the clients' tiny boxes, as centres and radii."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.confidence.clients import Client
from fedcert.model.network import Network
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import gamma
from fedcert.rules import AggregationRule, LinearMap

OUTWARD = 1 + 2.0**-20  # more than the roundings of a sum of non-negative numbers are worth
TINY = 2.0**-1000  # more than what underflow may lose


@dataclass(frozen=True, eq=False)
class Drawn:
    """Deployed networks, each known up to a radius that all parameters of a tensor share.

    Attributes:
        centre: parameters of B networks.
        radius: for each tensor of the network, a bound of |θ_g − centre| for all its entries and networks.
    """

    centre: Float64[Tensor, "B n_w"]
    radius: Float64[Tensor, "T"]

    def boxes(self, network: Network) -> Box:
        """The same as boxes, for verifiers of boxes.

        Args:
            network: whose parameters they are.
        """
        each = self.radius.repeat_interleave(torch.tensor(tensor_sizes(network), device=self.radius.device))
        half = each + (self.centre.abs() + each) * 2.0**-50
        return Box(self.centre - half, self.centre + half)

    def __getitem__(self, index: object) -> "Drawn":
        return Drawn(self.centre[index], self.radius)  # type: ignore[index]


def tensor_sizes(network: Network) -> list[int]:
    """The number of entries of each parameter tensor, in the order of the flat vector."""
    return [torch.Size(shape).numel() for layer in network.layers for shape in layer.shapes]


def deploy(
    rule: AggregationRule,
    network: Network,
    clients: Sequence[Client],
    thetas: Sequence[Float64[Tensor, "B n_w"]],
) -> Drawn:
    """The rule's image of the boxes θ_i ± radius_i.

    Args:
        rule: A.
        network: whose parameters are drawn.
        clients: the laws that were drawn from.
        thetas: what was computed of each client's draws.
    """
    if isinstance(rule, LinearMap):
        return _linear(rule, network, clients, thetas)
    boxes = []
    for client, theta in zip(clients, thetas, strict=True):
        half = client.radius + 2.0**-50 * (client.reach + client.radius)
        boxes.append(Box(theta - half, theta + half))
    image = rule.image(boxes)
    centre = (image.lower + image.upper) / 2
    radius = torch.maximum(image.upper - centre, centre - image.lower)
    return Drawn(centre, largest_radii(radius.amax(0) * OUTWARD + TINY, network))


def _linear(
    rule: LinearMap, network: Network, clients: Sequence[Client], thetas: Sequence[Float64[Tensor, "B n_w"]]
) -> Drawn:
    """The sum v + Σ_i w_i θ_i, off by Σ_i |w_i| radius_i and by n + 2 roundings of bounded terms."""
    offset = torch.zeros_like(thetas[0][0]) if rule.offset is None else rule.offset
    centre = offset.expand_as(thetas[0])
    inherited, magnitude = torch.zeros_like(offset), offset.abs()
    for weight, client, theta in zip(rule.weights, clients, thetas, strict=True):
        centre = torch.addcmul(centre, weight, theta)
        inherited = inherited + weight.abs() * client.radius
        magnitude = magnitude + weight.abs() * client.reach
    radius = inherited + 2 * gamma(rule.clients + 2) * magnitude
    return Drawn(centre, largest_radii(radius * OUTWARD + TINY, network))


def largest_radii(radius: Float64[Tensor, "n_w"], network: Network) -> Float64[Tensor, "T"]:
    """The largest radius of each parameter tensor.

    Args:
        radius: of each parameter.
        network: whose parameters they are.
    """
    return torch.stack([part.amax() for part in radius.split(tensor_sizes(network))])
