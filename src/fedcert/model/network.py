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
from fedcert.model.layers import Layer, Linear, ReLU
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
        if all(layer.inputs is None for layer in self.layers):
            raise ShapeMismatch("a network needs at least one layer with a number of inputs, such as Linear")
        shapes = self.value_shapes
        for place, (layer, shape) in enumerate(zip(self.layers, shapes, strict=False)):
            if layer.inputs not in (None, math.prod(shape)):
                raise ShapeMismatch(f"{self.layers[place - 1]} is followed by {layer}: widths differ")

    @property
    def inputs(self) -> int:
        """p, the length of an input."""
        return next(layer.inputs for layer in self.layers if layer.inputs is not None)

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
        shapes: list[tuple[int, ...]] = [(self.inputs,)]
        for layer in self.layers:
            shapes.append(layer.output_shape(shapes[-1]))
        return shapes

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
        pieces = iter(theta.split(sizes, dim=-1))
        return [tuple(next(pieces).unflatten(-1, shape) for shape in layer.shapes) for layer in self.layers]

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
