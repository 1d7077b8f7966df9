"""Projected gradient descent on a property's least margin, inside its region.

An attack proves nothing when it fails. When it succeeds it has found an input at which the network, as
floating point computes it, violates the property.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.verify.open_pairs import OpenPairs


@dataclass(frozen=True)
class ProjectedGradient:
    """Signed gradient steps from the centre of the region, projected back into it.

    Attributes:
        steps: the number of steps.
        reach: how far all steps together would go, in radii of the region.
    """

    steps: int = 10
    reach: float = 2.5

    def __call__(
        self, network: Network, theta: Float[Tensor, "B n_w"], properties: Properties
    ) -> tuple[Float[Tensor, "B P p"], Float[Tensor, "B P"]]:
        """The worst input found for each network and property, and its least margin min_r (C f(x) + d)_r.

        Args:
            network: f.
            theta: the parameters of B networks.
            properties: the properties to violate.
        """
        lower, upper = (end.to(theta.dtype) for end in (properties.regions.lower, properties.regions.upper))
        step = (upper - lower) / 2 * (self.reach / self.steps)
        theta = theta.detach()
        x = ((lower + upper) / 2).expand(len(theta), -1, -1)
        margin, gradient = _margin_and_gradient(network, theta, x, properties)
        worst_x, worst = x, margin
        for _ in range(self.steps):
            x = torch.clamp(x - step * gradient.sign(), lower, upper)
            margin, gradient = _margin_and_gradient(network, theta, x, properties)
            better = margin < worst
            worst_x = torch.where(better.unsqueeze(-1), x, worst_x)
            worst = torch.where(better, margin, worst)
        return worst_x, worst

    def survives(
        self,
        network: Network,
        theta: Float[Tensor, "B n_w"],
        properties: Properties,
        tried: Bool[Tensor, "B P"] | None = None,
    ) -> Bool[Tensor, "B P"]:
        """Whether the attack fails, for each network and property.

        A pair that is broken, or whose margin is not a number, needs no more steps, and drops out.

        Args:
            network: f.
            theta: the parameters of B networks.
            properties: the properties to violate.
            tried: the pairs to attack, all where None; the others do not count as survivors.
        """
        survived = torch.zeros(len(theta), len(properties), dtype=torch.bool, device=theta.device)
        pairs = OpenPairs.of(theta.detach(), properties, ~survived if tried is None else tried)
        for _ in range(self.steps + 1):
            if len(pairs.rows) == 0:
                break
            margin, gradient = pairs.margin_and_gradient(network)
            pairs = pairs.step(gradient, self.reach / self.steps).only(margin >= 0)
        survived[pairs.places] = True
        return survived


def least_margin(
    network: Network, theta: Float[Tensor, "B n_w"], x: Float[Tensor, "*B P p"], properties: Properties
) -> Float[Tensor, "B P"]:
    """min_r (C f_θ(x) + d)_r, one input for each property, or for each network and property."""
    outputs = network(theta, x)
    C, d = properties.C.to(outputs.dtype), properties.d.to(outputs.dtype)
    return (torch.einsum("prk,bpk->bpr", C, outputs) + d).amin(-1)


def _margin_and_gradient(
    network: Network, theta: Float[Tensor, "B n_w"], x: Float[Tensor, "B P p"], properties: Properties
) -> tuple[Float[Tensor, "B P"], Float[Tensor, "B P p"]]:
    """The least margin, and its ∇_x."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        margin = least_margin(network, theta, x, properties)
        (gradient,) = torch.autograd.grad(margin.sum(), x)
    return margin.detach(), gradient
