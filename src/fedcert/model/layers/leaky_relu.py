"""The leaky rectifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.activation import Line, Lines, Rising
from fedcert.model.layers.registry import register_layer
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import down, up


@register_layer
@dataclass(frozen=True)
class LeakyReLU(Rising):
    """x ↦ max(x, s x) for a slope s in [0, 1], coordinate by coordinate.

    Attributes:
        slope: s, of the line below 0.

    Examples:
        >>> LeakyReLU(0.5)([], torch.tensor([[-1.0, 2.0]]))
        tensor([[-0.5000,  2.0000]])
    """

    name: ClassVar[str] = "leaky-relu"
    modules: ClassVar[tuple[type[nn.Module], ...]] = (nn.LeakyReLU,)

    slope: float = 0.01

    def __post_init__(self) -> None:
        if not 0 <= self.slope <= 1:
            raise UnsupportedLayer(f"a LeakyReLU of slope {self.slope}: slopes from 0 to 1 are supported")

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n inputs"]:
        """max(x, s x)."""
        return torch.where(x > 0, x, self.slope * x)

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """Both ends, since the function does not decrease; products are rounded outward."""
        return Bounds(self._value(x.lower).lower, self._value(x.upper).upper)

    def lines(self, x: Bounds) -> Lines:
        """Below, a or s a; above, the chord, moved up until f lies below it at both ends.

        f(a) = max(a, s a) is convex: both lines below hold everywhere, and f(a) − slope · a is greatest at an
        end of the bounds, whatever the slope.
        """
        low, high = x
        one, leak = torch.ones_like(low), torch.full_like(low, self.slope)  # scalars are single
        below = torch.where((low >= 0) | (high > -low), one, leak)
        chord = (high - self.slope * low) / (high - low)
        slope = torch.where(low >= 0, one, torch.where(high <= 0, leak, chord)).clamp(self.slope, 1.0)
        ends = [(end, self._value(end)) for end in (low, high)]
        return Lines(Line(below, torch.zeros_like(below)), Lines.touching(below, slope, ends).above)

    def _value(self, x: Float64[Tensor, "*shape"]) -> Bounds:
        """Bounds of max(x, s x), one float outward where s x is rounded."""
        leaked = self.slope * x
        if self.slope in (0.0, 1.0):
            low = high = leaked
        else:
            low, high = down(leaked), up(leaked)
        return Bounds(torch.where(x > 0, x, low), torch.where(x > 0, x, high))

    @classmethod
    def from_module(cls, module: nn.LeakyReLU, shape: tuple[int, ...] | None) -> "LeakyReLU":
        """Read a torch.nn.LeakyReLU: its negative slope must lie in [0, 1]."""
        return cls(float(module.negative_slope))
