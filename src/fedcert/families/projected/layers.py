"""The layers of a network under a law, as projected events need them: affine and ReLU in turn."""

from collections.abc import Sequence

from fedcert.errors import InvalidLaw, UnsupportedLayer
from fedcert.laws.affine import RandomAffine
from fedcert.laws.protocol import GaussianLaw
from fedcert.model.network import Linear, Network, ReLU


def random_layers(network: Network, law: GaussianLaw) -> Sequence[RandomAffine]:
    """The affine layers of a network under a law; anything but Linear, ReLU, Linear, … raises.

    Args:
        network: f_θ.
        law: of its parameters.
    """
    expected: Sequence[type] = [Linear, ReLU] * len(network.layers)
    for layer, kind in zip(network.layers, expected, strict=False):
        if type(layer) is not kind:
            raise UnsupportedLayer(f"projected events are not defined for a {type(layer).__name__} here")
    if type(network.layers[-1]) is not Linear:
        raise UnsupportedLayer("projected events need a Linear layer at the end, not a ReLU")
    layers = law.layers(network)
    if not all(layer.independent for layer in layers):
        raise InvalidLaw(
            f"projected events need weights that are independent of each other, which a {type(law).__name__}"
            " does not promise"
        )
    return layers
