"""The fully connected layer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers.protocol import Part
from fedcert.model.layers.registry import register_layer
from fedcert.numerics.backward import LinearBound, LooseBound
from fedcert.numerics.interval import Bounds, affine
from fedcert.numerics.rounding import down, rounding_error


@register_layer
@dataclass(frozen=True)
class Linear:
    """x ↦ W x + b with parameters (W, b), in torch's order and layout.

    Attributes:
        inputs: k, the length of x.
        outputs: m, the number of neurons.

    Examples:
        >>> Linear(3, 2).shapes
        ((2, 3), (2,))
    """

    inputs: int
    outputs: int
    name: ClassVar[str] = "linear"
    modules: ClassVar[tuple[type[nn.Module], ...]] = (nn.Linear,)
    nonlinear: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not all(isinstance(width, Integral) and width >= 1 for width in (self.inputs, self.outputs)):
            raise ShapeMismatch(f"a linear layer from {self.inputs!r} inputs to {self.outputs!r} outputs")

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of W and b."""
        return ((self.outputs, self.inputs), (self.outputs,))

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A vector of m outputs."""
        return (self.outputs,)

    def matrix(self, parameters: Sequence[Part]) -> tuple[Part, Part]:
        """W and b: the parameters themselves."""
        weight, bias = parameters
        return weight, bias

    def unrolled(self, parameters: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """W and b: the parameters themselves."""
        return self.matrix(parameters)

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n outputs"]:
        """W x + b for every parameter vector of the batch."""
        weight, bias = parameters
        return x @ weight.mT + bias.unsqueeze(-2)

    def initialise(self, generator: torch.Generator) -> Float[Tensor, "size"]:
        """Draw parameters as torch.nn.Linear does: uniform on ±1/√k, weights and biases."""
        size = sum(math.prod(shape) for shape in self.shapes)
        return (2 * torch.rand(size, generator=generator) - 1) * (1 / math.sqrt(self.inputs))

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """Exact scalar products, added up and rounded outward."""
        weight, bias = parameters
        return affine(weight, bias, x)

    def backward(
        self, parameters: Sequence[Bounds], x: Bounds, bound: LinearBound
    ) -> LinearBound | LooseBound:
        """A (W x + b) ≥ (A W) x + A⁺b̲ + A⁻b̄, with A W between its least and its greatest over the box.

        Where all x ≥ 0 the least coefficients give the least value, and are all that is needed.
        """
        weight, bias = parameters
        rows = bound.coefficients
        positive, negative = rows.clamp(min=0.0), rows.clamp(max=0.0)
        constant, magnitude, roundings = shifted(bound, bias)
        lower = _least_product(positive, negative, weight)
        if (x.lower >= 0).all():
            return LinearBound(lower, constant, magnitude, roundings)
        upper = -_least_product(-negative, -positive, weight)
        return LooseBound(Bounds(lower, upper), constant, magnitude, roundings)

    def points(
        self,
        parameters: Sequence[Tensor],
        centre: Float[Tensor, "*xbatch P inputs"],
        radius: Float[Tensor, "*xbatch P inputs"],
    ) -> tuple[Float[Tensor, "*batch P outputs"], Float[Tensor, "*batch P outputs"]]:
        """W c + b ± |W| r."""
        return self(parameters, centre), radius @ parameters[0].abs().mT

    def describe(self) -> dict[str, Any]:
        """Its widths.

        >>> Linear(3, 2).describe()
        {'type': 'linear', 'inputs': 3, 'outputs': 2}
        """
        return {"type": self.name, "inputs": self.inputs, "outputs": self.outputs}

    @classmethod
    def from_description(cls, fields: Mapping[str, Any]) -> "Linear":
        """The layer of these widths."""
        return cls(**fields)

    @classmethod
    def from_module(cls, module: nn.Linear, shape: tuple[int, ...] | None) -> "Linear":
        """Read a torch.nn.Linear; one without a bias has the bias 0.

        Args:
            module: the torch module.
            shape: of one input; torch would map the rows of an image one by one, which is another layer.
        """
        if [name for name, _ in module.named_parameters()] not in (["weight", "bias"], ["weight"]):
            raise UnsupportedLayer("a Linear layer has a weight, a bias or none, and no other parameters")
        if shape is not None and len(shape) != 1:
            raise UnsupportedLayer(f"a Linear layer on inputs of shape {shape} needs a Flatten before it")
        return cls(module.in_features, module.out_features)


def shifted(
    bound: LinearBound, bias: Bounds
) -> tuple[Float64[Tensor, "B P R"], Float64[Tensor, "B P R"], int]:
    """Constant, magnitude and roundings of a bound A (y + b) that is rewritten for y: A⁺b̲ + A⁻b̄ is added.

    Args:
        bound: linear in y + b.
        bias: bounds of b, of shape (B, m).
    """
    rows = bound.coefficients
    positive, negative = rows.clamp(min=0.0), rows.clamp(max=0.0)
    constant = bound.constant + _times(positive, bias.lower) + _times(negative, bias.upper)
    largest = torch.maximum(bias.lower.abs(), bias.upper.abs())
    return constant, bound.magnitude + _times(rows.abs(), largest), bound.roundings + rows.shape[-1] + 3


def _times(rows: Float64[Tensor, "B P R m"], vector: Float64[Tensor, "B m"]) -> Float64[Tensor, "B P R"]:
    """Rows times a vector, for each box."""
    return (rows @ vector[:, None, :, None]).squeeze(-1)


def _least_product(
    positive: Float64[Tensor, "B P R m"], negative: Float64[Tensor, "B P R m"], weight: Bounds
) -> Float64[Tensor, "B P R k"]:
    """The least of A W over a weight box, A⁺W̲ + A⁻W̄, rounded down."""
    lower, upper = weight
    pos, neg = positive.flatten(1, 2), negative.flatten(1, 2)
    value = pos @ lower + neg @ upper
    error = rounding_error(2 * lower.shape[-2] + 4, (pos - neg) @ torch.maximum(lower.abs(), upper.abs()))
    return down(value - error).reshape(*positive.shape[:3], lower.shape[-1])
