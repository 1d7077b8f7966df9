"""Where the parameters of each layer that computes W x + b are among those of a network."""

from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers import Affine, AvgPool2d, Conv2d, Layer
from fedcert.model.network import Network


@dataclass(frozen=True)
class Place:
    """One layer, and the places of its weights and biases.

    Attributes:
        layer: an `Affine` layer, a convolution, or a mean over windows, which has no parameters.
        weights: of shape (m, k), or (G, o, K) for a convolution.
        biases: of shape (m,), or (G, o).
    """

    layer: Layer
    weights: Int64[Tensor, "*matrix"]
    biases: Int64[Tensor, "*vector"]

    @property
    def every(self) -> Int64[Tensor, "n"]:
        """All of them in one vector."""
        return torch.cat([self.weights.flatten(), self.biases.flatten()])


def parameter_places(network: Network) -> list[Place]:
    """The layers of a network that compute W x + b, pooling by means among them, in their order.

    Args:
        network: any; a layer whose parameters are no entries of a matrix or a kernel raises.
    """
    numbers = network.unflatten(torch.arange(network.parameters, dtype=torch.float64))
    found = []
    for layer, own in zip(network.layers, numbers, strict=True):
        if isinstance(layer, Affine):
            weight, bias = layer.matrix(own)
        elif isinstance(layer, Conv2d):
            weight, bias = layer.by_group(*own)
        elif isinstance(layer, AvgPool2d):
            weight = bias = torch.zeros(0)
        elif own:
            raise UnsupportedLayer(f"the parameters of {layer} are no entries of a matrix")
        else:
            continue
        found.append(Place(layer, weight.long(), bias.long()))
    return found
