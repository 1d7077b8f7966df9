"""The layers of a network under a law, as projected events need them: affine ones, ReLUs between them."""

from collections.abc import Sequence

from fedcert.errors import UnsupportedLayer
from fedcert.laws.affine import JoinedAffine, RandomAffine
from fedcert.laws.protocol import GaussianLaw
from fedcert.model.layers import Affine, AvgPool2d, Conv2d, ReLU, ResidualSum
from fedcert.model.network import Network

Known = Affine | Conv2d | AvgPool2d
"""Layers that compute W x + b."""


def first_random(network: Network) -> int:
    """The place of the layer from which on all layers are affine or ReLUs.

    All layers before are features: they must be fixed, and a box of their outputs is all that is used.

    Args:
        network: f_θ.
    """
    others = [place for place, layer in enumerate(network.layers) if not _known(network, place)]
    start = others[-1] + 1 if others else 0
    while start < len(network.layers) and not isinstance(network.layers[start], Known):
        start += 1
    return start


def _known(network: Network, place: int) -> bool:
    """Whether a layer computes W x + b, or is the ReLU behind one that does."""
    layer = network.layers[place]
    if layer == ReLU():
        return place > 0 and isinstance(network.layers[place - 1], Known)
    return isinstance(layer, Known)


def rectified(network: Network) -> list[bool]:
    """Whether a ReLU follows each affine layer but the last, from `first_random` on.

    Args:
        network: f_θ.
    """
    start, layers = first_random(network), network.layers
    places = [place for place in range(start, len(layers)) if isinstance(layers[place], Known)]
    return [layers[place + 1] == ReLU() for place in places[:-1]]


def random_layers(network: Network, law: GaussianLaw) -> Sequence[RandomAffine]:
    """The affine layers of a network under a law, from `first_random` on; those before must be fixed.

    Args:
        network: f_θ.
        law: the law of its parameters.
    """
    start, layers = first_random(network), network.layers
    for layer in layers:
        if isinstance(layer, ResidualSum):
            raise UnsupportedLayer(f"projected events are not defined for {layer}")
    if start == len(layers) or not isinstance(layers[-1], Known):
        raise UnsupportedLayer(f"projected events need an affine layer at the end, not {layers[-1]}")
    features = sum(isinstance(layer, Known) for layer in layers[:start])
    found = law.layers(network)
    if not all(layer.fixed for layer in found[:features]):
        raise UnsupportedLayer(
            f"projected events need fixed layers before {layers[start - 1]}, and some of these are random:"
            ' choose events="box", or a posterior of the last layer'
        )
    if features and any(isinstance(layer, JoinedAffine) for layer in found):
        raise UnsupportedLayer(f"a law that joins layers leaves no fixed ones before {layers[start - 1]}")
    return found[features:]
