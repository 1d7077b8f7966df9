"""The layers of a network under a law, as projected events need them: alternately affine and ReLU."""

from collections.abc import Sequence

from fedcert.errors import UnsupportedLayer
from fedcert.laws.affine import RandomAffine
from fedcert.laws.protocol import GaussianLaw
from fedcert.model.layers import Affine, ReLU
from fedcert.model.network import Network


def random_layers(network: Network, law: GaussianLaw) -> Sequence[RandomAffine]:
    """The affine layers of a network under a law; raises unless its layers are affine, ReLU, affine, ….

    Args:
        network: f_θ.
        law: the law of its parameters.
    """
    for place, layer in enumerate(network.layers):
        if not (isinstance(layer, Affine) if place % 2 == 0 else layer == ReLU()):
            raise UnsupportedLayer(f"projected events are not defined for {layer} here")
    if len(network.layers) % 2 == 0:
        raise UnsupportedLayer(f"projected events need an affine layer at the end, not {network.layers[-1]}")
    return law.layers(network)
