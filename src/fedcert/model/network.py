"""Networks on a flat parameter vector.

A layer is frozen data: the shapes of its parameters and what it computes. What a verifier does with a
layer is the verifier's business, registered by the layer's type; a layer it does not know raises.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer


@runtime_checkable
class Layer(Protocol):
    """One layer: parameter shapes, and the map of inputs for a batch of parameters."""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the layer's parameters, in the order of the flat vector."""
        ...

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n outputs"]:
        """Apply the layer, for every parameter vector of the batch, to n inputs."""
        ...


@dataclass(frozen=True)
class Linear:
    """x ↦ W x + b with parameters (W, b), in torch's order and layout."""

    inputs: int
    outputs: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of W and b."""
        return ((self.outputs, self.inputs), (self.outputs,))

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n outputs"]:
        """W x + b for every parameter vector of the batch."""
        weight, bias = parameters
        return x @ weight.mT + bias.unsqueeze(-2)


@dataclass(frozen=True)
class ReLU:
    """x ↦ max(x, 0), coordinate by coordinate."""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """No parameters."""
        return ()

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n inputs"]:
        """max(x, 0)."""
        return x.clamp(min=0.0)


@dataclass(frozen=True)
class Network:
    """f_θ: layers one after the other, all parameters in one flat vector θ.

    Attributes:
        layers: the layers, first to last.
    """

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        widths = [layer for layer in self.layers if isinstance(layer, Linear)]
        if not widths:
            raise ShapeMismatch("a network needs at least one Linear layer")
        for before, after in pairwise(widths):
            if before.outputs != after.inputs:
                raise ShapeMismatch(f"{before} is followed by {after}: widths differ")

    @property
    def inputs(self) -> int:
        """p, the dimension of an input."""
        return next(layer.inputs for layer in self.layers if isinstance(layer, Linear))

    @property
    def outputs(self) -> int:
        """K, the number of outputs."""
        return [layer.outputs for layer in self.layers if isinstance(layer, Linear)][-1]

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
        """Draw parameters as torch.nn.Linear does: uniform on ±1/√inputs, weights and biases."""
        pieces = []
        for layer in self.layers:
            if not isinstance(layer, Linear):
                continue
            bound = 1 / math.sqrt(layer.inputs)
            size = sum(math.prod(shape) for shape in layer.shapes)
            pieces.append((2 * torch.rand(size, generator=generator) - 1) * bound)
        return torch.cat(pieces)


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


def from_torch(module: nn.Sequential) -> Network:
    """The network that a torch module computes; its θ is `parameters_to_vector`'s.

    Flatten layers are dropped, since inputs are vectors here; any other layer that is not known raises
    and names itself.

    >>> from_torch(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))) == mlp(4, 3, 2)
    True
    """
    if type(module) is not nn.Sequential:
        raise UnsupportedLayer(f"only a plain nn.Sequential can be read, not a {type(module).__name__}")
    layers: list[Layer] = []
    seen: set[int] = set()
    for place, child in enumerate(module):
        if type(child) is nn.Linear and _is_plain(child) and id(child) not in seen:
            layers.append(Linear(child.in_features, child.out_features))
            seen.add(id(child))
        elif type(child) is nn.ReLU and _is_plain(child):
            layers.append(ReLU())
        elif type(child) is not nn.Flatten:
            raise UnsupportedLayer(
                f"layer {place} is a {type(child).__name__}: {child}; supported are Linear (with bias, used"
                " once, without hooks or parametrisations), ReLU and Flatten"
            )
    return Network(tuple(layers))


def _is_plain(module: nn.Module) -> bool:
    """Whether a module computes what its type says, with parameters in the usual order."""
    names = [name for name, _ in module.named_parameters()]
    hooks = module._forward_hooks or module._forward_pre_hooks
    return not hooks and names == (["weight", "bias"] if type(module) is nn.Linear else [])
