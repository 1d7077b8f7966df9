"""The residual addition."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers.chain import by_layer, chain_inputs, chain_shapes
from fedcert.model.layers.protocol import Branched, Layer, Part
from fedcert.model.layers.registry import read_layer, register_layer, require_registered
from fedcert.numerics.backward import LinearBound, LooseBound, added
from fedcert.numerics.interval import Bounds, total

Chain = Sequence[tuple[Layer, Sequence[Part]]]


@register_layer
@dataclass(frozen=True)
class ResidualSum:
    """y = f(x) + s(x) for chains of layers f and s; a chain without layers is x itself.

    Its parameters are those of f, layer by layer, and then those of s.

    Attributes:
        body: the layers of f, at least one of them with a number of inputs.
        shortcut: the layers of s; none for y = f(x) + x.

    Examples:
        >>> from fedcert.model.layers import Linear, ReLU
        >>> layer = ResidualSum((Linear(2, 3), ReLU(), Linear(3, 2)))
        >>> layer.inputs, len(layer.shapes)
        (2, 4)
    """

    body: tuple[Layer, ...]
    shortcut: tuple[Layer, ...] = ()
    name: ClassVar[str] = "residual"
    modules: ClassVar[tuple[type[nn.Module], ...]] = ()
    nonlinear: ClassVar[bool] = False  # the addition itself; layers inside say for themselves

    def __post_init__(self) -> None:
        for layer in (*self.body, *self.shortcut):
            require_registered(layer)
            if isinstance(layer, Branched):
                raise UnsupportedLayer("a residual addition inside of another is not supported")
        if chain_inputs(self.body) is None:
            raise ShapeMismatch(
                "a residual addition needs a body with a layer such as Linear, not activations"
            )
        self.output_shape((self.inputs,))  # which raises if the layers do not fit together

    @property
    def chains(self) -> tuple[tuple[Layer, ...], ...]:
        """F and s."""
        return (self.body, self.shortcut)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the parameters of all layers."""
        return tuple(shape for chain in self.chains for layer in chain for shape in layer.shapes)

    @property
    def inputs(self) -> int:
        """The length of x."""
        found = chain_inputs(self.body)
        assert found is not None  # __post_init__
        return found

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """That of f(x) and s(x), which must have the same length."""
        ends = [chain_shapes(chain, shape)[-1] for chain in self.chains]
        if len({math.prod(end) for end in ends}) > 1:
            raise ShapeMismatch(f"a body with outputs of shape {ends[0]} and a shortcut with {ends[1]}")
        return max(ends, key=len)

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n outputs"]:
        """The sum f(x) + s(x)."""
        ends = []
        for chain in self._with_parameters(parameters):
            h = x
            for layer, own in chain:
                h = layer(own, h)
            ends.append(h)
        return ends[0] + ends[1]

    def initialise(self, generator: torch.Generator) -> Float[Tensor, "size"]:
        """Those of all layers."""
        return torch.cat([layer.initialise(generator) for chain in self.chains for layer in chain])

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """The sum of both intervals, rounded outward."""
        ends = []
        for chain in self._with_parameters(parameters):
            h = x
            for layer, own in chain:
                h = layer.interval(own, h)
            ends.append(h)
        return total(ends)

    def backward(
        self, parameters: Sequence[Bounds], x: Bounds, bound: LinearBound
    ) -> LinearBound | LooseBound:
        """A (f(x) + s(x)): either chain carries A back by itself, and what arrives is added up.

        Bounds inside the chains are intervals; a verifier of whole networks knows better ones.
        """
        chains = zip(self._with_parameters(parameters), bound.shared(2), strict=True)
        return added([_carried(chain, x, own) for chain, own in chains])

    def points(
        self,
        parameters: Sequence[Tensor],
        centre: Float[Tensor, "*xbatch P inputs"],
        radius: Float[Tensor, "*xbatch P inputs"],
    ) -> tuple[Float[Tensor, "*batch P outputs"], Float[Tensor, "*batch P outputs"]]:
        """Sums of both chains' centres and radii."""
        ends = []
        for chain in self._with_parameters(parameters):
            c, r = centre, radius
            for layer, own in chain:
                c, r = layer.points(own, c, r)
            ends.append((c, r))
        (c, r), (other_c, other_r) = ends
        return c + other_c, r + other_r

    def describe(self) -> dict[str, Any]:
        """The layers of both chains.

        >>> from fedcert.model.layers import Linear
        >>> ResidualSum((Linear(2, 2),)).describe()["body"]
        [{'type': 'linear', 'inputs': 2, 'outputs': 2}]
        """
        body, shortcut = ([layer.describe() for layer in chain] for chain in self.chains)
        return {"type": self.name, "body": body, "shortcut": shortcut}

    @classmethod
    def from_description(cls, fields: Mapping[str, Any]) -> "ResidualSum":
        """The layer of these chains."""
        chains = {name: tuple(read_layer(layer) for layer in own) for name, own in fields.items()}
        return cls(**chains)

    @classmethod
    def from_module(cls, module: Any, shape: tuple[int, ...] | None) -> "ResidualSum":
        """No single torch module is read as this layer: its addition is found in a forward."""
        raise UnsupportedLayer("a residual addition is read from the forward of a module")

    def _with_parameters(self, parameters: Sequence[Part]) -> list[Chain[Part]]:
        """Both chains, each layer with its parameters."""
        own = by_layer((*self.body, *self.shortcut), parameters)
        size = len(self.body)
        return [
            list(zip(self.body, own[:size], strict=True)),
            list(zip(self.shortcut, own[size:], strict=True)),
        ]


def _carried(chain: Chain[Bounds], x: Bounds, bound: LinearBound) -> LinearBound | LooseBound:
    """A bound that is linear in a chain's outputs, as one in its inputs."""
    inputs = [x]
    for layer, own in chain[:-1]:
        inputs.append(layer.interval(own, inputs[-1]))
    steps = list(zip(chain, inputs, strict=False))
    for (layer, own), at in reversed(steps[1:]):
        bound = layer.backward(own, at, bound).settled(at)
    return chain[0][0].backward(chain[0][1], x, bound) if chain else bound
