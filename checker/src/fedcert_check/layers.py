"""The layers that this checker knows, and networks made of them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from fedcert_check.image_layers import AvgPool2d, Conv2d, MaxPool2d
from fedcert_check.registry import Registry
from fedcert_check.validation import Array, natural, quoted, require, require_fields

MAX_LAYERS = 1000


@dataclass(frozen=True)
class Linear:
    """W x + b with W of shape (outputs, inputs). Its parameters are W, row by row, and then b.

    Attributes:
        inputs: number of inputs.
        outputs: number of outputs.
    """

    inputs: int
    outputs: int

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "Linear":
        """The layer of a network's description."""
        require_fields(entry, {"type", "inputs", "outputs"}, "a linear layer")
        sizes = (natural(entry[name], 1, f"a layer's number of {name}") for name in ("inputs", "outputs"))
        return cls(*sizes)

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of entries of W and of b."""
        return self.inputs * self.outputs, self.outputs

    def matrix(self, weight: Array, bias: Array, zero: Any) -> tuple[Array, Array]:
        """W and b.

        Args:
            weight: the entries of W.
            bias: b.
            zero: the number 0, of the kind that the weights are.
        """
        return weight.reshape(self.outputs, self.inputs), bias


@dataclass(frozen=True)
class ReLU:
    """max(x, 0), entry by entry."""

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "ReLU":
        """The layer of a network's description."""
        require_fields(entry, {"type"}, "a ReLU layer")
        return cls()


@dataclass(frozen=True)
class LeakyReLU:
    """max(x, s x), entry by entry.

    Attributes:
        slope: s in [0, 1], the real number that the float is.
    """

    slope: float

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "LeakyReLU":
        """The layer of a network's description."""
        require_fields(entry, {"type", "slope"}, "a leaky ReLU layer")
        slope = entry["slope"]
        number = isinstance(slope, int | float) and not isinstance(slope, bool)
        require(number and 0 <= slope <= 1, f"a leaky ReLU of slope {quoted(slope)}, not in [0, 1]")
        return cls(float(slope))


@dataclass(frozen=True)
class Tanh:
    """tanh x, entry by entry."""

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "Tanh":
        """The layer of a network's description."""
        require_fields(entry, {"type"}, "a tanh layer")
        return cls()


@dataclass(frozen=True)
class Sigmoid:
    """1/(1 + exp(−x)), entry by entry."""

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "Sigmoid":
        """The layer of a network's description."""
        require_fields(entry, {"type"}, "a sigmoid layer")
        return cls()


Activation = ReLU | LeakyReLU | Tanh | Sigmoid
Sized = Linear | Conv2d | AvgPool2d | MaxPool2d
Layer = Activation | Sized
LAYERS: Registry[Callable[[dict[str, Any]], Layer]] = Registry(
    "layer type",
    {
        "linear": Linear.read,
        "conv2d": Conv2d.read,
        "avg-pool2d": AvgPool2d.read,
        "max-pool2d": MaxPool2d.read,
        "relu": ReLU.read,
        "leaky-relu": LeakyReLU.read,
        "tanh": Tanh.read,
        "sigmoid": Sigmoid.read,
    },
)
"""How a layer is read from its description, by its type."""


@dataclass(frozen=True)
class Network:
    """A network, layer by layer: at least one has parameters, and no activation follows another.

    Attributes:
        layers: from the input on.
    """

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        require(len(self.linear) > 0, "the network has no linear layer")
        for layer, following in pairwise(self.sized):
            require(
                layer.outputs == following.inputs,
                f"a layer of {following.inputs} inputs follows one of {layer.outputs} outputs",
            )
        activations = [isinstance(layer, Activation) for layer in self.layers]
        require(
            not any(both == (True, True) for both in pairwise(activations)), "an activation follows another"
        )

    @classmethod
    def read(cls, entries: Any) -> "Network":
        """The network of a claim.

        Args:
            entries: a description of each layer.
        """
        require(isinstance(entries, list) and len(entries) > 0, "the network has no layers")
        require(len(entries) <= MAX_LAYERS, f"a network of {len(entries)} layers, more than {MAX_LAYERS}")
        for entry in entries:
            require(isinstance(entry, dict) and "type" in entry, f"a layer is {quoted(entry)}")
        return cls(tuple(LAYERS[entry["type"]](entry) for entry in entries))

    @property
    def linear(self) -> list[Linear | Conv2d]:
        """The layers that have parameters."""
        return [layer for layer in self.layers if isinstance(layer, Linear | Conv2d)]

    @property
    def sized(self) -> list[Sized]:
        """The layers that have a number of inputs: all but activations."""
        return [layer for layer in self.layers if isinstance(layer, Sized)]

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of inputs, then of outputs of each layer that is no activation."""
        return (self.sized[0].inputs, *(layer.outputs for layer in self.sized))

    @property
    def sizes(self) -> list[int]:
        """The number of entries of each W and b, in the order of the parameters."""
        return [size for layer in self.linear for size in layer.sizes]

    @property
    def dimension(self) -> int:
        """n_w, the number of parameters."""
        return sum(self.sizes)

    @property
    def rectified(self) -> bool:
        """Whether fully connected layers and ReLUs take turns, from a fully connected layer on."""
        kinds = [(Linear, ReLU)[place % 2] for place in range(len(self.layers))]
        return all(isinstance(layer, kind) for layer, kind in zip(self.layers, kinds, strict=True))

    @property
    def fully_connected(self) -> list[Linear]:
        """The layers with parameters, of a network for which projected events are defined; else an error."""
        require(self.rectified, "projected events are defined for layers linear, relu, linear, … alone")
        require(isinstance(self.layers[-1], Linear), "the last layer is a ReLU")
        return [layer for layer in self.layers if isinstance(layer, Linear)]

    def matrices(self, parameters: Array, zero: Any = 0.0) -> list[tuple[Array, Array]]:
        """W and b of each layer that has parameters: of a convolution, those of all its neurons.

        Args:
            parameters: one vector of all.
            zero: the number 0, of the kind that the parameters are.
        """
        require(
            len(parameters) == self.dimension,
            f"{len(parameters)} parameters for a network of {self.dimension}",
        )
        parts = iter(np.split(parameters, np.cumsum(self.sizes)[:-1]))
        return [layer.matrix(next(parts), next(parts), zero) for layer in self.linear]
