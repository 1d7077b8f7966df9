"""Networks: layers one after the other, on a flat parameter vector."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from fedcert.errors import ShapeMismatch
from fedcert.model.layers import Branched, Conv2d, Layer, Linear, ReLU
from fedcert.model.layers.chain import by_layer, chain_inputs, chain_shapes
from fedcert.model.layers.registry import read_layer, require_registered


@dataclass(frozen=True)
class Network:
    """f_θ: layers one after the other, all parameters in one flat vector θ.

    Attributes:
        layers: the layers, first to last. The class of each is registered, so that it computes what its
            methods bound.

    Examples:
        >>> network = Network((Linear(4, 3), ReLU(), Linear(3, 2)))
        >>> network.inputs, network.outputs, network.parameters
        (4, 2, 23)
    """

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        for layer in self.layers:
            require_registered(layer)
        if chain_inputs(self.layers) is None:
            raise ShapeMismatch("a network needs at least one layer with a number of inputs, such as Linear")
        _ = self.value_shapes  # which raises if the layers do not fit together

    @property
    def inputs(self) -> int:
        """p, the length of an input."""
        found = chain_inputs(self.layers)
        assert found is not None  # __post_init__
        return found

    @property
    def outputs(self) -> int:
        """K, the number of outputs."""
        return math.prod(self.value_shapes[-1])

    @property
    def value_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the input and of every layer's output: (length,), or that of an image.

        >>> mlp(4, 3, 2).value_shapes
        [(4,), (3,), (3,), (2,)]
        """
        return chain_shapes(self.layers, (self.inputs,))

    @property
    def leaves(self) -> list[Layer]:
        """The layers, with those of chains that a layer adds up in its place: all in the order of θ."""
        found: list[Layer] = []
        for layer in self.layers:
            chains = layer.chains if isinstance(layer, Branched) else ((layer,),)
            found += [own for chain in chains for own in chain]
        return found

    @property
    def parameters(self) -> int:
        """n_w, the number of parameters."""
        return sum(math.prod(shape) for layer in self.layers for shape in layer.shapes)

    def unflatten(self, theta: Float[Tensor, "*batch n_w"]) -> list[tuple[Tensor, ...]]:
        """The parameters of each layer, as views of the flat vectors."""
        if theta.shape[-1] != self.parameters:
            raise ShapeMismatch(
                f"parameter vector of length {theta.shape[-1]} for a network of {self.parameters}"
            )
        sizes = [math.prod(shape) for layer in self.layers for shape in layer.shapes]
        pieces = by_layer(self.layers, theta.split(sizes, dim=-1))
        return [
            tuple(own.unflatten(-1, shape) for own, shape in zip(mine, layer.shapes, strict=True))
            for layer, mine in zip(self.layers, pieces, strict=True)
        ]

    def __call__(
        self, theta: Float[Tensor, "*batch n_w"], x: Float[Tensor, "*xbatch n p"]
    ) -> Float[Tensor, "*batch n K"]:
        """f_θ(x) for every parameter vector θ of the batch and each of n inputs, or n inputs a vector."""
        for layer, parameters in zip(self.layers, self.unflatten(theta), strict=True):
            x = layer(parameters, x)
        return x

    def initialise(self, generator: torch.Generator) -> Float[Tensor, "n_w"]:
        """Draw the parameters of every layer for training, as torch does for its layers."""
        return torch.cat([layer.initialise(generator) for layer in self.layers])

    def describe(self) -> list[dict[str, Any]]:
        """The layers as a file holds them.

        >>> mlp(4, 2).describe()
        [{'type': 'linear', 'inputs': 4, 'outputs': 2}]
        """
        return [layer.describe() for layer in self.layers]

    @classmethod
    def from_description(cls, layers: Sequence[Mapping[str, Any]]) -> "Network":
        """The network of a description; a layer of an unknown type raises.

        Args:
            layers: what `describe` gave.

        Examples:
            >>> Network.from_description(mlp(4, 3, 2).describe()) == mlp(4, 3, 2)
            True
        """
        return cls(tuple(read_layer(layer) for layer in layers))


def mlp(*widths: int) -> Network:
    """A fully connected ReLU network with these widths, input and output included.

    >>> mlp(784, 64, 10).parameters
    50890
    """
    if len(widths) < 2 or min(widths) < 1:
        raise ShapeMismatch(f"an MLP needs at least two positive widths, not {widths}")
    layers: list[Layer] = []
    for inputs, outputs in pairwise(widths):
        layers += [Linear(inputs, outputs), ReLU()]
    return Network(tuple(layers[:-1]))


def cnn(image: tuple[int, int, int], channels: Sequence[int], *widths: int) -> Network:
    """A convolutional ReLU network: convolutions that halve the image, then fully connected layers.

    Every kernel has the size 4, the stride 2 and the padding 1.

    Args:
        image: channels, height and width of an input.
        channels: of each convolution.
        widths: of the fully connected layers, output included.

    Examples:
        >>> cnn((1, 28, 28), (8, 16), 32, 10).parameters
        27650
    """
    if not channels or min(channels) < 1 or not widths or min(widths) < 1:
        raise ShapeMismatch(f"a CNN needs convolutions and an output layer, not {channels} and {widths}")
    layers: list[Layer] = []
    for filters in channels:
        convolution = Conv2d(image, filters, (4, 4), (2, 2), (1, 1))
        layers += [convolution, ReLU()]
        image = (filters, *convolution.windows.positions)
    return Network((*layers, *mlp(math.prod(image), *widths).layers))
