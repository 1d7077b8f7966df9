"""Functions of the shape of an S: the hyperbolic tangent, and the logistic function ½ + ½ tanh(x/2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from fedcert.model.layers.activation import Line, Lines, Rising
from fedcert.model.layers.registry import register_layer
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import down, tanh_down, tanh_up, up

BISECTIONS = 40
SATURATED = 20.0  # beyond it the tangent is flat, and no line from the left touches it there
MAX_INCLINED_WIDTH = 2.0**20  # of bounds whose line above is not horizontal
MIN_SLOPE = 2.0**-500  # below it a line is horizontal


@register_layer
@dataclass(frozen=True)
class Tanh(Rising):
    """x ↦ tanh x, coordinate by coordinate.

    Examples:
        >>> Tanh()([], torch.tensor([[0.0, 100.0]]))
        tensor([[0., 1.]])
    """

    name: ClassVar[str] = "tanh"
    modules: ClassVar[tuple[type[nn.Module], ...]] = (nn.Tanh,)

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n inputs"]:
        """Apply tanh."""
        return torch.tanh(x)

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """Both ends, rounded outward: the function rises."""
        return Bounds(tanh_down(x.lower), tanh_up(x.upper))

    def lines(self, x: Bounds) -> Lines:
        """Above, see `line_above`; below the same, since tanh is odd: tanh a = −tanh(−a) ≥ s a − t."""
        mirrored = line_above(-x.upper, -x.lower)
        assert mirrored.height is not None
        return Lines(Line(mirrored.slope, -mirrored.height), line_above(x.lower, x.upper))

    @classmethod
    def from_module(cls, module: nn.Tanh, shape: tuple[int, ...] | None) -> "Tanh":
        """Read a torch.nn.Tanh: it has no settings."""
        return cls()


@register_layer
@dataclass(frozen=True)
class Sigmoid(Rising):
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


def line_above(low: Float64[Tensor, "*batch k"], high: Float64[Tensor, "*batch k"]) -> Line:
    """A line s a + t ≥ tanh a on [l, u], for any slope s and any b ≥ 0 in [l, u].

    Below 0 tanh is convex, so that tanh a − s a is at most its value at an end. Above 0 it is concave and
    lies below its tangent at b, tanh a − s a ≤ tanh b − s b + (tanh' b − s)(a − b), which is greatest at an
    end of [max(l, 0), u]. The slope is the tangent's at the middle where l ≥ 0, and else that of the chord
    from l to b, which touches tanh at b or ends at b = u.

    Args:
        low: l.
        high: u.
    """
    touch = torch.where(low >= 0, low + (high - low) / 2, torch.where(high <= 0, high, _touching(low, high)))
    touch = torch.clamp(touch, low, high)
    slope = _slope(low, touch)
    flat = (high - low > MAX_INCLINED_WIDTH) | (slope < MIN_SLOPE)
    convex = torch.maximum(_above_at(low, slope), _above_at(high, slope))
    concave = torch.where(high > 0, _above_concave(low, high, touch, slope), convex)
    height = torch.where(flat, tanh_up(high), torch.maximum(convex, concave))
    return Line(torch.where(flat, 0 * touch, slope), height)


def _above_at(a: Tensor, slope: Tensor) -> Tensor:
    """An upper bound of tanh a − s a."""
    return up(tanh_up(a) - down(slope * a))


def _above_concave(low: Tensor, high: Tensor, touch: Tensor, slope: Tensor) -> Tensor:
    """An upper bound of tanh a − s a on [max(l, 0), u], by the tangent at b ≥ 0."""
    least, greatest = tanh_down(touch).clamp(min=0.0), tanh_up(touch)
    steepest, flattest = up(1 - down(least * least)), down(1 - up(greatest * greatest))
    right = up(steepest - slope).clamp(min=0.0) * up(high - touch).clamp(min=0.0)
    left = up(slope - flattest).clamp(min=0.0) * up(touch - low.clamp(min=0.0)).clamp(min=0.0)
    return up(_above_at(touch, slope) + up(torch.maximum(left, right)))


def _slope(low: Tensor, touch: Tensor) -> Tensor:
    """That of the chord from l < 0 to b, and of the tangent at b elsewhere."""
    value = torch.tanh(touch)
    chord = (value - torch.tanh(low)) / (touch - low)
    return torch.where((low < 0) & (touch > low), chord, 1 - value * value).clamp(0.0, 1.0)


def _touching(low: Tensor, high: Tensor) -> Tensor:
    """Where a line from (l, tanh l) touches tanh in [0, u], about; u if it does so beyond.

    tanh b − tanh l − tanh' b (b − l) rises with b ≥ 0, and vanishes there.
    """
    left, right, start = torch.zeros_like(low), high.clamp(0.0, SATURATED), torch.tanh(low)
    for _ in range(BISECTIONS):
        middle = (left + right) / 2
        value = torch.tanh(middle)
        beyond = value - start >= (1 - value * value) * (middle - low)
        left, right = torch.where(beyond, left, middle), torch.where(beyond, middle, right)
    return right
