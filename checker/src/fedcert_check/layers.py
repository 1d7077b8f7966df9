"""The layers that this checker knows, and networks made of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from fedcert_check.image_layers import AvgPool2d, Conv2d, MaxPool2d
from fedcert_check.registry import Registry
from fedcert_check.validation import Array, natural, quoted, require, require_fields

MAX_LAYERS = 1000
Own = TypeVar("Own", bound="Parameterless")


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
class Parameterless:
    """A function of one number that has no settings, entry by entry."""

    @classmethod
    def read(cls: type[Own], entry: dict[str, Any]) -> Own:
        """The layer of a network's description."""
        require_fields(entry, {"type"}, f"a {cls.__name__} layer")
        return cls()


class ReLU(Parameterless):
    """max(x, 0)."""


class Tanh(Parameterless):
    """tanh x."""


class Sigmoid(Parameterless):
    """1/(1 + exp(−x))."""


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


Activation = ReLU | LeakyReLU | Tanh | Sigmoid
Single = Linear | Conv2d | AvgPool2d | MaxPool2d | Activation


@dataclass(frozen=True)
class Residual:
    """f(x) + s(x): the outputs of the body and of the shortcut, which is x itself if it has no layers.

    Its parameters are those of the body, layer by layer, and then those of the shortcut.

    Attributes:
        body: the layers of f.
        shortcut: the layers of s.
    """

    body: tuple[Single, ...]
    shortcut: tuple[Single, ...]

    def __post_init__(self) -> None:
        require(
            len(sized(self.body)) > 0, "the body of a residual layer needs a layer with a number of inputs"
        )
        outputs = [chain_outputs(own, self.inputs) for own in self.chains]
        require(outputs[0] == outputs[1], f"a residual layer adds {outputs[0]} numbers to {outputs[1]}")

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "Residual":
        """The layer of a network's description; there is no residual layer inside of another."""
        require_fields(entry, {"type", "body", "shortcut"}, "a residual layer")
        return cls(*(tuple(map(read_single, entries(entry[name]))) for name in ("body", "shortcut")))

    @property
    def chains(self) -> tuple[tuple[Single, ...], ...]:
        """F and s."""
        return self.body, self.shortcut

    @property
    def inputs(self) -> int:
        """The length of x."""
        return sized(self.body)[0].inputs

    @property
    def outputs(self) -> int:
        """The length of f(x)."""
        return chain_outputs(self.body, self.inputs)


Sized = Linear | Conv2d | AvgPool2d | MaxPool2d | Residual
Layer = Single | Residual
SINGLE: Registry[Callable[[dict[str, Any]], Single]] = Registry(
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
"""How a layer that is not made of others is read from its description, by its type."""
LAYERS: Registry[Callable[[dict[str, Any]], Layer]] = Registry(
    "layer type", {**SINGLE.known, "residual": Residual.read}
)
"""How a layer is read from its description, by its type."""


def entries(value: Any) -> list[dict[str, Any]]:
    """The descriptions of layers, if that is what a value is."""
    require(isinstance(value, list), f"layers are {quoted(value)}")
    require(len(value) <= MAX_LAYERS, f"a network of {len(value)} layers, more than {MAX_LAYERS}")
    for entry in value:
        require(isinstance(entry, dict) and "type" in entry, f"a layer is {quoted(entry)}")
    return list(value)


def read_single(entry: dict[str, Any]) -> Single:
    """A layer that is not made of others."""
    return SINGLE[entry["type"]](entry)


def sized(layers: Sequence[Layer]) -> list[Sized]:
    """The layers that have a number of inputs: all but activations."""
    return [layer for layer in layers if isinstance(layer, Sized)]


def chain_outputs(layers: Sequence[Layer], inputs: int) -> int:
    """The number of outputs of layers one after the other; those that do not fit together raise.

    Args:
        layers: from the input on.
        inputs: the number of inputs.
    """
    width = inputs
    for layer in sized(layers):
        require(layer.inputs == width, f"a layer of {layer.inputs} inputs follows one of {width} outputs")
        width = layer.outputs
    activations = [isinstance(layer, Activation) for layer in layers]
    require(not any(both == (True, True) for both in pairwise(activations)), "an activation follows another")
    return width


@dataclass(frozen=True)
class Network:
    """A network, layer by layer: at least one has parameters, and no activation follows another.

    Attributes:
        layers: from the input on.
    """

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        require(len(self.linear) > 0, "the network has no linear layer")
        chain_outputs(self.layers, sized(self.layers)[0].inputs)

    @classmethod
    def read(cls, layers: Any) -> "Network":
        """The network of a claim.

        Args:
            layers: a description of each layer.
        """
        require(isinstance(layers, list) and len(layers) > 0, "the network has no layers")
        found = cls(tuple(LAYERS[entry["type"]](entry) for entry in entries(layers)))
        count = len(found.leaves)
        require(count <= MAX_LAYERS, f"a network of {count} layers, more than {MAX_LAYERS}")
        return found

    @property
    def leaves(self) -> list[Single]:
        """The layers, with those inside residual layers in their place; in the order of the parameters."""
        found: list[Single] = []
        for layer in self.layers:
            if isinstance(layer, Residual):
                found += [*layer.body, *layer.shortcut]
            else:
                found.append(layer)
        return found

    @property
    def linear(self) -> list[Linear | Conv2d]:
        """The layers that have parameters."""
        return [layer for layer in self.leaves if isinstance(layer, Linear | Conv2d)]

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of inputs, then of outputs of each layer that is no activation."""
        own = sized(self.layers)
        return (own[0].inputs, *(layer.outputs for layer in own))

    @property
    def maps(self) -> list[tuple[int, int]]:
        """The numbers of inputs and outputs of each leaf that is no activation."""
        return [(layer.inputs, layer.outputs) for layer in sized(self.leaves)]

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
