"""How far the margins of drawn networks stray from those of their mean: for estimates, not for proofs.

A draw is c + s ∘ Z with quantiles Z of N(0, 1), each no farther from 0 than the mean of the bin around it. So
E e^{tZ} ≤ e^{t²/2} by Jensen's inequality, and a sum a · Z is beyond nine of its deviations ‖a‖ with a
probability below 6e-18: for as many sums as an estimate has, never. It is not beyond 4.3 Σ |a_d| either.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.federation.normals import quantiles
from fedcert.federation.numbered import GaussianDraws
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network
from fedcert.model.properties import Properties

DEVIATIONS = 9.0  # 2 exp(−9² / 2) < 6e-18
SINGLE_PRECISION = 2.0**-20  # more than the relative rounding of a draw, and of a number made of it


class Straying(NamedTuple):
    """Interval bounds of a layer's values under the mean, and how far from them those of draws may be.

    Attributes:
        low: the lower bounds.
        high: the upper bounds.
        error: of both.
    """

    low: Float64[Tensor, "P k"]
    high: Float64[Tensor, "P k"]
    error: Float64[Tensor, "P k"]

    def through(self, mean: tuple[Tensor, Tensor], scale: tuple[Tensor, Tensor]) -> "Straying":
        """Behind W x + b: low and high are W c + b ∓ |W| r for a centre c and a radius r.

        The mean carries an error e on as |M| e. The noise of W and b is independent of c, which it
        multiplies, and adds 4.3 S r to the radius.

        Args:
            mean: of W and b.
            scale: of W and b.
        """
        (M, m), (S, s) = mean, scale
        centre, radius = (self.low + self.high) / 2, (self.high - self.low) / 2
        size, farthest = centre.abs() + self.error, quantiles(M.device).amax().double()
        noise = torch.minimum(
            DEVIATIONS * (size.square() @ S.square().mT + s.square()).sqrt(), farthest * (size @ S.mT + s)
        )
        spread = farthest * ((radius + self.error) @ S.mT)
        rounding = SINGLE_PRECISION * ((size + radius) @ (M.abs() + S).mT + m.abs() + s)
        middle, half = centre @ M.mT + m, radius @ M.abs().mT
        error = self.error @ M.abs().mT + noise + spread + rounding
        return Straying(middle - half, middle + half, error)


def margins_of_draws(
    draws: GaussianDraws, network: Network, properties: Properties
) -> tuple[Float64[Tensor, "P R"], Float64[Tensor, "P R"]] | None:
    """Numbers between which interval bounds of C f_θ(x) + d lie for every draw; None for other layers.

    Args:
        draws: θ.
        network: f, of linear layers and rectifiers.
        properties: their regions, C and d.
    """
    if not all(isinstance(layer, Linear | ReLU) for layer in network.layers):
        return None
    low, high = properties.regions.lower, properties.regions.upper
    values = Straying(low, high, torch.zeros_like(low))
    means, scales = (network.unflatten(part.double()) for part in (draws.centre, draws.scale))
    for mean, scale in zip(means, scales, strict=True):
        if len(mean) == 0:  # a rectifier moves no two numbers apart
            low, high = (end.clamp(min=0.0) for end in (values.low, values.high))
            values = Straying(low, high, values.error)
        else:
            (M, m), (S, s) = mean, scale
            values = values.through((M, m), (S, s))
    C, d = properties.C, properties.d
    low, high, error = (part.unsqueeze(-1) for part in values)
    margins = (C.clamp(min=0.0) @ low + C.clamp(max=0.0) @ high).squeeze(-1) + d
    reach = (C.abs() @ (error + SINGLE_PRECISION * torch.maximum(low.abs(), high.abs()))).squeeze(-1)
    return margins - reach, margins + reach
