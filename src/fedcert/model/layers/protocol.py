"""What a layer offers: all that networks, verifiers and files ask of it.

A layer is a frozen dataclass. It acts on vectors: the pixels of an image are the coordinates of one vector,
and a layer that needs their arrangement holds it. Verifiers, families and files know layers by these methods
alone; a new one is a file and `register_layer`.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fedcert.numerics.backward import LinearBound, LooseBound
from fedcert.numerics.interval import Bounds

Part = TypeVar("Part")


@runtime_checkable
class Layer(Protocol):
    """One layer: its parameters, its map of inputs, and bounds of it.

    Attributes:
        name: the layer's type in files.
        modules: the classes of torch modules that are read as this layer, without their subclasses.
        nonlinear: whether its backward step depends on how tight the bounds of its inputs are.
    """

    name: ClassVar[str]
    modules: ClassVar[tuple[type[nn.Module], ...]]
    nonlinear: ClassVar[bool]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the layer's parameters, in the order of the flat vector."""
        ...

    @property
    def inputs(self) -> int | None:
        """The length of an input; None for a layer that takes any and keeps its shape."""
        ...

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of an output.

        Args:
            shape: of an input of the right length: (length,), or the image that the vector stands for.
        """
        ...

    @abstractmethod
    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n outputs"]:
        """Apply the layer, for every parameter vector of the batch, to n inputs."""
        ...

    def initialise(self, generator: torch.Generator) -> Float[Tensor, "size"]:
        """Draw the layer's parameters for training, as one flat vector."""
        ...

    @abstractmethod
    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """Enclose the outputs for all parameters and inputs within bounds, rounded outward.

        Args:
            parameters: bounds of shapes (B, …).
            x: bounds of shape (P, k), (B, 1, k) or (B, P, k).
        """
        ...

    def backward(
        self, parameters: Sequence[Bounds], x: Bounds, bound: LinearBound
    ) -> LinearBound | LooseBound:
        """From a lower bound that is linear in the outputs to one that is linear in the inputs.

        Args:
            parameters: bounds of shapes (B, …).
            x: bounds of the inputs, as in `interval`; NaN bounds nothing.
            bound: linear in the outputs.
        """
        ...

    @abstractmethod
    def points(
        self,
        parameters: Sequence[Tensor],
        centre: Float[Tensor, "*xbatch P inputs"],
        radius: Float[Tensor, "*xbatch P inputs"],
    ) -> tuple[Float[Tensor, "*batch P outputs"], Float[Tensor, "*batch P outputs"]]:
        """Centre and radius of the outputs for inputs centre ± radius, rounding apart: for estimates."""
        ...

    def describe(self) -> dict[str, Any]:
        """The layer in a file: its name as "type", and all that `from_description` needs, as JSON has it."""
        ...

    @classmethod
    def from_description(cls, fields: Mapping[str, Any]) -> "Layer":
        """The layer of a description.

        Args:
            fields: all of the description but its type; they may come from anywhere.
        """
        ...

    @classmethod
    def from_module(cls, module: Any, shape: tuple[int, ...] | None) -> "Layer":
        """The layer that a torch module computes; one that computes anything else raises `UnsupportedLayer`.

        Args:
            module: of one of the classes `modules`, exactly.
            shape: of one input, if it is known.
        """
        ...


@runtime_checkable
class Affine(Layer, Protocol):
    """y = W x + b in which each entry of W and b is a parameter of its own."""

    def matrix(self, parameters: Sequence[Part]) -> tuple[Part, Part]:
        """W, of shape (*batch, m, k), and b, of shape (*batch, m)."""
        ...


@runtime_checkable
class Unrolled(Layer, Protocol):
    """y = W x + b with a matrix that can be written down, whether its entries are parameters or not."""

    def unrolled(self, parameters: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """W, of shape (*batch, m, k), and b, of shape (*batch, m), each entry rounded once at most."""
        ...


@runtime_checkable
class Branched(Layer, Protocol):
    """y = Σ_i f_i(x) for chains of layers f_i; a chain without layers is x itself.

    The layer's parameters are those of its chains, one chain after the other, layer by layer.
    """

    @property
    def chains(self) -> tuple[tuple[Layer, ...], ...]:
        """The layers of each f_i."""
        ...
