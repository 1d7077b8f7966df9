"""Elementwise activations: a function of one number, between two lines wherever its argument is bounded."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.protocol import Layer
from fedcert.numerics.backward import LinearBound
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import SMALLEST_NORMAL, down, up


@dataclass(frozen=True)
class Line:
    """a ↦ slope · a + height, for each neuron.

    Attributes:
        slope: the slope.
        height: at 0. None for lines through the origin whose slopes are 0 or 1: products with them are exact,
            and nothing is charged for them.
    """

    slope: Float64[Tensor, "*batch k"]
    height: Float64[Tensor, "*batch k"] | None = None

    def __post_init__(self) -> None:
        if self.height is None and not ((self.slope == 0) | (self.slope == 1)).all():
            raise ValueError("a line without a height has the slope 0 or 1: any other product is rounded")


@dataclass(frozen=True)
class Lines:
    """Lines around a function f: below(a) ≤ f(a) ≤ above(a) in real arithmetic, for all a within bounds.

    Attributes:
        below: below f.
        above: above f.
    """

    below: Line
    above: Line

    @classmethod
    def touching(
        cls,
        below: Float64[Tensor, "*batch k"],
        above: Float64[Tensor, "*batch k"],
        corners: Sequence[tuple[Float64[Tensor, "*batch k"], Bounds]],
    ) -> "Lines":
        """Lines of given slopes, moved until f lies between them at the corners, rounded outward.

        They are sound where f(a) − slope · a is least and greatest at corners. For a piecewise linear f those
        are both ends of the bounds and each of its kinks between them.

        Args:
            below: slopes of the lines below; any will do.
            above: slopes of the lines above.
            corners: points a, with bounds of f(a).

        Examples:
            >>> low, high = torch.tensor([-1.0]).double(), torch.tensor([2.0]).double()
            >>> kinks = [(a, Bounds(a.abs(), a.abs())) for a in (low, high, 0 * low)]  # f(a) = |a|
            >>> lines = Lines.touching(0 * low, (high + low) / (high - low), kinks)
            >>> lines.below.height.round(), lines.above.height  # |a| ≤ a/3 + 4/3
            (tensor([-0.], dtype=torch.float64), tensor([1.3333], dtype=torch.float64))
        """
        least = [down(value.lower - up(below * a)) for a, value in corners]
        greatest = [up(value.upper - down(above * a)) for a, value in corners]
        return cls(Line(below, torch.stack(least).amin(0)), Line(above, torch.stack(greatest).amax(0)))


@runtime_checkable
class Activation(Layer, Protocol):
    """A layer that maps each coordinate alone, by the same function f, without parameters.

    A subclass is a frozen dataclass that adds `name`, f itself (`__call__`), its enclosure (`interval`), its
    `lines` and its `points`; one that torch has adds `modules` and `from_module`.
    """

    name: ClassVar[str]
    modules: ClassVar[tuple[type[nn.Module], ...]] = ()
    nonlinear: ClassVar[bool] = True

    @abstractmethod
    def lines(self, x: Bounds) -> Lines:
        """Lines around f on [x̲, x̄].

        Args:
            x: bounds of the arguments, of shape (*batch, k); where they are not finite, any lines will do.
        """
        ...

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """No parameters."""
        return ()

    @property
    def inputs(self) -> int | None:
        """Any number of inputs."""
        return None

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """That of the input."""
        return shape

    def initialise(self, generator: torch.Generator) -> Float[Tensor, "size"]:
        """No parameters."""
        return torch.zeros(0)

    def backward(self, parameters: Sequence[Bounds], x: Bounds, bound: LinearBound) -> LinearBound:
        """By the sign of its coefficient, the line below f or the line above it takes f's place."""
        return through_lines(self.lines(x), x, bound)

    def describe(self) -> dict[str, Any]:
        """The name, and the fields of the dataclass."""
        fields: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return {"type": self.name, **fields}

    @classmethod
    def from_description(cls, fields: Mapping[str, Any]) -> "Layer":
        """The layer with these fields."""
        make: Callable[..., Layer] = cls
        return make(**fields)

    @classmethod
    def from_module(cls, module: Any, shape: tuple[int, ...] | None) -> "Layer":
        """Raises: which settings of a module this layer computes, only the layer can say."""
        raise UnsupportedLayer(
            f"{cls.__name__} names {type(module).__name__} in `modules`, but not how it is read: give it a"
            " classmethod from_module(cls, module, shape) that returns the layer, and refuses settings that"
            " compute anything else"
        )


class Rising(Activation, Protocol):
    """An activation that does not decrease."""

    def points(
        self,
        parameters: Sequence[Tensor],
        centre: Float[Tensor, "*xbatch P inputs"],
        radius: Float[Tensor, "*xbatch P inputs"],
    ) -> tuple[Float[Tensor, "*batch P inputs"], Float[Tensor, "*batch P inputs"]]:
        """Both ends, as centre and radius."""
        return monotone_points(lambda a: self(parameters, a), centre, radius)


def through_lines(lines: Lines, x: Bounds, bound: LinearBound) -> LinearBound:
    """From a bound linear in f(a) to one linear in a, with a line in f's place.

    A rounded slope is as good as any other, if its line lies below or above f. The product of a coefficient
    and a slope counts with the size of the argument that it multiplies, and so does what it may lose by
    underflow.

    Args:
        lines: around f, for arguments within the bounds.
        x: bounds of the arguments.
        bound: linear in f(a).
    """
    below, above = lines.below, lines.above
    rising, falling = bound.coefficients.clamp(min=0.0), bound.coefficients.clamp(max=0.0)
    largest = torch.maximum(x.lower.abs(), x.upper.abs()).unsqueeze(-2)
    constant, terms = bound.constant, SMALLEST_NORMAL * largest
    for coefficients, line in ((falling, above), (rising, below)):
        if line.height is not None:
            slope, height = line.slope.unsqueeze(-2), line.height.unsqueeze(-2)
            constant = constant + (coefficients * height).sum(-1)
            terms = terms + coefficients.abs() * (height.abs() + slope.abs() * largest)
    return LinearBound(
        rising * below.slope.unsqueeze(-2) + falling * above.slope.unsqueeze(-2),
        constant,
        bound.magnitude + terms.sum(-1),
        bound.roundings + x.lower.shape[-1] + 5,
    )


def monotone_points(
    function: Callable[[Tensor], Tensor], centre: Float[Tensor, "*shape"], radius: Float[Tensor, "*shape"]
) -> tuple[Float[Tensor, "*image"], Float[Tensor, "*image"]]:
    """Centre and radius of f(centre ± radius) for an f that does not decrease, rounding apart.

    Args:
        function: f.
        centre: of the arguments.
        radius: of the arguments.

    Examples:
        >>> monotone_points(torch.relu, torch.tensor([0.0]), torch.tensor([2.0]))
        (tensor([1.]), tensor([1.]))
    """
    low, high = function(centre - radius), function(centre + radius)
    return (low + high) / 2, (high - low) / 2
