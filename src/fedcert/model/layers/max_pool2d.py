"""Maxima over windows of an image."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor, nn

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.activation import Line, Lines, monotone_points, through_lines
from fedcert.model.layers.conv2d import image_shape, pair
from fedcert.model.layers.pool2d import Pool2d
from fedcert.model.layers.registry import register_layer
from fedcert.model.layers.windows import Pair, Windows
from fedcert.numerics.backward import LinearBound, LooseBound
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import down, rounding_error, up


@register_layer
@dataclass(frozen=True)
class MaxPool2d(Pool2d):
    """The greatest pixel of each window, channel by channel, without padding.

    Attributes:
        image: channels, height and width of the input, which is one flat vector.
        kernel: height and width of a window.
        stride: between windows.
        dilation: between pixels of a window.

    Examples:
        >>> MaxPool2d((1, 2, 2), (2, 2), (2, 2))([], torch.tensor([[1.0, 2.0, 3.0, 6.0]]))
        tensor([[6.]])
    """

    image: tuple[int, int, int]
    kernel: Pair
    stride: Pair
    dilation: Pair = (1, 1)
    name: ClassVar[str] = "max-pool2d"
    modules: ClassVar[tuple[type[nn.Module], ...]] = (nn.MaxPool2d,)
    nonlinear: ClassVar[bool] = True

    @cached_property
    def windows(self) -> Windows:
        """The windows of every channel."""
        return Windows(self.image, self.kernel, self.stride, (0, 0), self.dilation, self.channels)

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n outputs"]:
        """Maxima."""
        return self.windows.gather(x).amax(-1).flatten(-2)

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """The maxima of both ends: exact."""
        return Bounds(self((), x.lower), self((), x.upper))

    def backward(
        self, parameters: Sequence[Bounds], x: Bounds, bound: LinearBound
    ) -> LinearBound | LooseBound:
        """One pixel x_j of each window stands for its maximum: x_j ≤ y ≤ max(x_j, m), m ≥ all others.

        Above, a line takes the place of the convex function max(x_j, m) of x_j. j has the greatest middle.
        """
        lower, upper = (self.windows.gather(end).flatten(-3, -2) for end in x)
        best = (lower + upper).argmax(-1, keepdim=True)
        others = upper.scatter(-1, best, -torch.inf).amax(-1)
        chosen = Bounds(*(end.take_along_dim(best, -1).squeeze(-1) for end in (lower, upper)))
        through = through_lines(_lines(chosen, others), chosen, bound)
        table = self.windows.pixel_table(best.device).flatten(0, 1)
        pixel = table.expand(*best.shape[:-1], -1).take_along_dim(best, -1).squeeze(-1)
        ends = self._onto_pixels(through.coefficients, pixel)
        return LooseBound(ends, through.constant, through.magnitude, through.roundings)

    def _onto_pixels(self, a: Float64[Tensor, "B P R m"], pixel: Int64[Tensor, "*batch P m"]) -> Bounds:
        """The coefficients of the pixels; where windows overlap, one may stand for several of them."""
        index = pixel.unsqueeze(-2).expand(a.shape)
        nothing = torch.zeros(*a.shape[:-1], self.inputs, dtype=a.dtype, device=a.device)
        value = nothing.scatter_add(-1, index, a)
        if self.windows.overlap == 1:
            return Bounds(value, value)
        error = rounding_error(self.windows.overlap + 1, nothing.scatter_add(-1, index, a.abs()))
        return Bounds(down(value - error), up(value + error))

    def points(
        self,
        parameters: Sequence[Tensor],
        centre: Float[Tensor, "*xbatch P inputs"],
        radius: Float[Tensor, "*xbatch P inputs"],
    ) -> tuple[Float[Tensor, "*batch P outputs"], Float[Tensor, "*batch P outputs"]]:
        """Both ends, as centre and radius."""
        return monotone_points(lambda a: self(parameters, a), centre, radius)

    @classmethod
    def from_module(cls, module: nn.MaxPool2d, shape: tuple[int, ...] | None) -> "MaxPool2d":
        """Read a torch.nn.MaxPool2d without padding.

        Args:
            module: the torch module.
            shape: channels, height and width of one input.
        """
        if pair(module.padding) != (0, 0) or module.ceil_mode or module.return_indices:
            raise UnsupportedLayer("supported are windows inside the image, and maxima alone")
        return cls(image_shape(shape), pair(module.kernel_size), pair(module.stride), pair(module.dilation))


def _lines(x: Bounds, others: Float64[Tensor, "*batch P m"]) -> Lines:
    """Lines around the maximum of x_j and numbers that are at most m: x_j, and a chord of max(x_j, m).

    max(a, m) − s a is convex in a, so that it is greatest at an end of the bounds, for any slope s. Where
    x_j ≥ m throughout, the maximum is x_j.
    """
    low, high = x
    one = torch.ones_like(low)
    chord = ((high - others) / (high - low)).clamp(0.0, 1.0)
    slope = torch.where(others <= low, one, torch.where(others >= high, 0 * one, chord))
    corners = [(end, Bounds(*[torch.maximum(end, others)] * 2)) for end in (low, high)]
    above = Lines.touching(one, slope, corners).above
    height = torch.where(others <= low, 0 * one, above.height)  # type: ignore[arg-type]
    return Lines(Line(one), Line(slope, height))
