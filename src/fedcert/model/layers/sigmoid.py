"""The logistic function."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from fedcert.model.layers.activation import Activation, Line, Lines, monotone_points
from fedcert.model.layers.registry import register_layer
from fedcert.model.layers.tanh import Tanh
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import down, tanh_down, tanh_up, up


@register_layer
@dataclass(frozen=True)
class Sigmoid(Activation):
    """x ↦ 1/(1 + exp(−x)) = ½ + ½ tanh(x/2), coordinate by coordinate.

    Examples:
        >>> Sigmoid()([], torch.tensor([[0.0, 100.0]]))
        tensor([[0.5000, 1.0000]])
    """

    name: ClassVar[str] = "sigmoid"
    modules: ClassVar[tuple[type[nn.Module], ...]] = (nn.Sigmoid,)

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n inputs"]:
        """Apply the function."""
        return torch.sigmoid(x)

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """Both ends, rounded outward: the function rises."""
        low, high = _halved(x)
        return Bounds(
            down(0.5 + tanh_down(low) / 2).clamp(min=0.0), up(0.5 + tanh_up(high) / 2).clamp(max=1.0)
        )

    def lines(self, x: Bounds) -> Lines:
        """Those of tanh: s a + t ≤ tanh a for a = x/2 means (s/4) x + (½ + t/2) ≤ ½ + ½ tanh(x/2).

        s is 0 or far above the smallest float, so that s/4 is exact.
        """
        lines = Tanh().lines(_halved(x))
        return Lines(
            Line(lines.below.slope / 4, down(0.5 + _height(lines.below) / 2)),
            Line(lines.above.slope / 4, up(0.5 + _height(lines.above) / 2)),
        )

    def points(
        self,
        parameters: Sequence[Tensor],
        centre: Float[Tensor, "*xbatch P inputs"],
        radius: Float[Tensor, "*xbatch P inputs"],
    ) -> tuple[Float[Tensor, "*batch P inputs"], Float[Tensor, "*batch P inputs"]]:
        """Both ends, as centre and radius."""
        return monotone_points(torch.sigmoid, centre, radius)

    @classmethod
    def from_module(cls, module: nn.Sigmoid, shape: tuple[int, ...] | None) -> "Sigmoid":
        """Read a torch.nn.Sigmoid: it has no settings."""
        return cls()


def _halved(x: Bounds) -> Bounds:
    """Bounds of x/2, which may underflow."""
    return Bounds(down(x.lower / 2), up(x.upper / 2))


def _height(line: Line) -> Float64[Tensor, "*batch k"]:
    assert line.height is not None
    return line.height
