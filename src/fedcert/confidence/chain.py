"""Drawn networks as chains of affine maps and rectifiers, with one radius for all weights of a layer.

A product of floats is the exact product with other weights: fl(Σ_i a_i W_ij) = Σ_i a_i W̃_ij with
|W̃_ij − W_ij| ≤ γ_k |W_ij|. So the roundings of a matrix product, in either direction, are charged like the
radius of the drawn weights: both are part of `Affine.weight_radius` (docs/soundness.md, 12).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float64
from torch import Tensor

from fedcert.confidence.deployed import Drawn
from fedcert.model.layers import ReLU, Unrolled
from fedcert.model.network import Network
from fedcert.numerics.rounding import gamma

OUTWARD = 1 + 2.0**-18
"""What sums of non-negative charges are multiplied by: more than their own roundings are worth."""
SPARE = 4
"""How many times the roundings of a product are charged: once would do. What this program counts as proven
must also be proven by a checker whose sums are taken in another order."""
SPARE_ROUNDINGS = 64
FLOOR = 2.0**-150  # of a radius: far more than what underflow may lose


@dataclass(frozen=True, eq=False)
class Affine:
    """y = W h + b for B networks.

    Attributes:
        weight: W, to within `weight_radius`.
        bias: b, to within `bias_radius`.
        weight_radius: of every entry of W, with the roundings of a product.
        bias_radius: of every entry of b, with the roundings of a sum.
    """

    weight: Float64[Tensor, "B m k"]
    bias: Float64[Tensor, "B m"]
    weight_radius: Float64[Tensor, "B"]
    bias_radius: Float64[Tensor, "B"]

    def __getitem__(self, index: object) -> "Affine":
        fields = (self.weight, self.bias, self.weight_radius, self.bias_radius)
        return Affine(*(field[index] for field in fields))  # type: ignore[index]


Chain = Sequence[Affine | None]
"""The layers, first to last; None for a rectifier."""


def is_chain(network: Network) -> bool:
    """Whether a network consists of affine maps that can be written down, and of ReLU layers."""
    return all(isinstance(layer, Unrolled) or layer == ReLU() for layer in network.layers)


def chain_of(network: Network, drawn: Drawn) -> Chain:
    """The layers of drawn networks.

    Args:
        network: a chain, as `is_chain` says.
        drawn: the parameters of B networks.
    """
    radii = iter(drawn.radius)
    later = 4 * len(network.layers) + SPARE_ROUNDINGS  # additions on a term's further way
    chain: list[Affine | None] = []
    for layer, parameters in zip(network.layers, network.unflatten(drawn.centre), strict=True):
        if not isinstance(layer, Unrolled):
            chain.append(None)
            continue
        matrix, offset = layer.unrolled(parameters)
        device, count = drawn.centre.device, len(drawn.centre)
        weight, bias = matrix.to(device).expand(count, -1, -1), offset.to(device).expand(count, -1)
        rounding = SPARE * gamma(2 * (max(weight.shape[-2:]) + later))
        radius = [
            ((next(radii) if parameters else 0.0) + rounding * part.abs().flatten(1).amax(-1)) * OUTWARD
            + FLOOR
            for part in (weight, bias)
        ]
        chain.append(Affine(weight, bias, *radius))
    return chain


def select(chain: Chain, networks: object) -> Chain:
    """The layers of some of the networks.

    Args:
        chain: the layers of all.
        networks: an index of the batch.
    """
    return [None if layer is None else layer[networks] for layer in chain]


def rounding_of(length: int, chain: Chain) -> float:
    """The relative charge for the roundings of sums of so many terms, and of what they are added to."""
    return SPARE * gamma(2 * (length + 4 * len(chain) + SPARE_ROUNDINGS))
