"""The part of a network that projected events treat layer by layer: affine layers and ReLUs, to the end."""

from fedcert_check.image_layers import AvgPool2d, Conv2d
from fedcert_check.layers import Linear, Network, ReLU, Sized

Affine = Linear | Conv2d | AvgPool2d
"""Layers that compute W x + b, means over windows among them."""


def first_random(network: Network) -> int:
    """The place of the layer from which on all are affine or ReLUs; what is before are features.

    Args:
        network: of a certificate.
    """
    affine = [isinstance(layer, Affine) for layer in network.layers]
    behind = [False, *affine[:-1]]
    known = [
        one or (isinstance(layer, ReLU) and before)
        for layer, one, before in zip(network.layers, affine, behind, strict=True)
    ]
    start = len(known) - known[::-1].index(False) if False in known else 0
    return next((place for place in range(start, len(affine)) if affine[place]), len(affine))


def affine_layers(network: Network) -> list[Affine]:
    """The affine layers behind the features.

    Args:
        network: of a certificate.
    """
    return [layer for layer in network.layers[first_random(network) :] if isinstance(layer, Affine)]


def start_of(network: Network, place: int) -> int:
    """Where the parameters of an affine layer behind the features begin.

    Args:
        network: of a certificate.
        place: of the layer, among those behind the features.
    """
    own = [layer for layer in network.layers[first_random(network) :] if isinstance(layer, Sized)]
    later = [layer for layer in own[place:] if isinstance(layer, Linear | Conv2d)]
    return network.dimension - sum(sum(layer.sizes) for layer in later)
