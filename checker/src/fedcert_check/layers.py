"""The layers that this checker knows, and networks made of them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

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


Layer = Linear | ReLU | LeakyReLU
LAYERS: Registry[Callable[[dict[str, Any]], Layer]] = Registry(
    "layer type", {"linear": Linear.read, "relu": ReLU.read, "leaky-relu": LeakyReLU.read}
)
"""How a layer is read from its description, by its type."""


@dataclass(frozen=True)
class Network:
    """A network, layer by layer: at least one is linear, and no ReLU, leaky or not, follows a ReLU.

    Attributes:
        layers: from the input on.
    """

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        require(len(self.linear) > 0, "the network has no linear layer")
        for layer, following in pairwise(self.linear):
            require(
                layer.outputs == following.inputs,
                f"a layer of {following.inputs} inputs follows one of {layer.outputs} outputs",
            )
        rectified = [not isinstance(layer, Linear) for layer in self.layers]
        require(not any(both == (True, True) for both in pairwise(rectified)), "a ReLU follows a ReLU")

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
    def linear(self) -> list[Linear]:
        """The layers that have parameters."""
        return [layer for layer in self.layers if isinstance(layer, Linear)]

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of inputs, then of outputs of each linear layer."""
        return (self.linear[0].inputs, *(layer.outputs for layer in self.linear))

    @property
    def sizes(self) -> list[int]:
        """The number of entries of each W and b, in the order of the parameters."""
        return [size for layer in self.linear for size in layer.sizes]

    @property
    def dimension(self) -> int:
        """n_w, the number of parameters."""
        return sum(self.sizes)

    @property
    def alternating(self) -> bool:
        """Whether linear layers and ReLUs, leaky or not, take turns, from a linear layer on."""
        return all(isinstance(layer, Linear) == (k % 2 == 0) for k, layer in enumerate(self.layers))

    @property
    def rectified(self) -> bool:
        """Whether no layer but the first has negative inputs: each follows a ReLU that does not leak."""
        return self.alternating and not self.leaky

    @property
    def leaky(self) -> bool:
        """Whether some ReLU is leaky."""
        return any(isinstance(layer, LeakyReLU) for layer in self.layers)

    def matrices(self, parameters: Array) -> list[tuple[Array, Array]]:
        """W and b of each linear layer.

        Args:
            parameters: one vector of all.
        """
        require(
            len(parameters) == self.dimension,
            f"{len(parameters)} parameters for a network of {self.dimension}",
        )
        found, start = [], 0
        for layer in self.linear:
            middle = start + layer.inputs * layer.outputs
            stop = middle + layer.outputs
            weight = parameters[start:middle].reshape(layer.outputs, layer.inputs)
            found.append((weight, parameters[middle:stop]))
            start = stop
        return found
