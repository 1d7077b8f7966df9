"""Means over windows of an image."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.conv2d import image_shape, pair
from fedcert.model.layers.pool2d import Pool2d
from fedcert.model.layers.registry import register_layer
from fedcert.model.layers.windows import Pair, Windows
from fedcert.numerics.backward import LinearBound, LooseBound
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import down, rounding_error, sum_down, sum_up, up


@register_layer
@dataclass(frozen=True)
class AvgPool2d(Pool2d):
    """The mean of each window of K pixels, channel by channel; padding counts as zeros.

    Attributes:
        image: channels, height and width of the input, which is one flat vector.
        kernel: height and width of a window.
        stride: between windows.
        padding: rows and columns of zeros on either side.

    Examples:
        >>> AvgPool2d((1, 2, 2), (2, 2), (2, 2))([], torch.tensor([[1.0, 2.0, 3.0, 6.0]]))
        tensor([[3.]])
    """

    image: tuple[int, int, int]
    kernel: Pair
    stride: Pair
    padding: Pair = (0, 0)
    name: ClassVar[str] = "avg-pool2d"
    modules: ClassVar[tuple[type[nn.Module], ...]] = (nn.AvgPool2d, nn.AdaptiveAvgPool2d)
    nonlinear: ClassVar[bool] = False

    @cached_property
    def windows(self) -> Windows:
        """The windows of every channel."""
        return Windows(self.image, self.kernel, self.stride, self.padding, groups=self.channels)

    def unrolled(self, parameters: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The entry 1/K where a window sees a pixel."""
        pixels = torch.eye(self.inputs, dtype=torch.float64)
        matrix = self(parameters, pixels).mT
        return matrix, torch.zeros(len(matrix), dtype=torch.float64)

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n outputs"]:
        """Means."""
        return self.windows.gather(x).mean(-1).flatten(-2)

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """The means of both ends, rounded outward."""
        lower, upper = (self.windows.gather(end) for end in x)
        size = math.prod(self.kernel)
        return Bounds(
            down(sum_down(lower) / size).flatten(-2),
            up(sum_up(upper) / size).flatten(-2),
        )

    def backward(
        self, parameters: Sequence[Bounds], x: Bounds, bound: LinearBound
    ) -> LinearBound | LooseBound:
        """The coefficient of a pixel is the sum of those of its windows, over K, rounded outward."""
        windows, size = self.windows, math.prod(self.kernel)
        each = (bound.coefficients / size).unflatten(-1, (windows.groups, -1)).unsqueeze(-1)
        seen = each.expand(*each.shape[:-1], size)
        value, magnitude = windows.scatter(seen), windows.scatter(seen.abs())
        error = rounding_error(windows.overlap + 2, magnitude)
        ends = Bounds(down(value - error), up(value + error))
        return LooseBound(ends, bound.constant, bound.magnitude, bound.roundings)

    def points(
        self,
        parameters: Sequence[Tensor],
        centre: Float[Tensor, "*xbatch P inputs"],
        radius: Float[Tensor, "*xbatch P inputs"],
    ) -> tuple[Float[Tensor, "*batch P outputs"], Float[Tensor, "*batch P outputs"]]:
        """Means of both."""
        return self(parameters, centre), self(parameters, radius)

    @classmethod
    def from_module(
        cls, module: nn.AvgPool2d | nn.AdaptiveAvgPool2d, shape: tuple[int, ...] | None
    ) -> "AvgPool2d":
        """Read a pooling module whose windows are all of one size.

        Args:
            module: the torch module.
            shape: channels, height and width of one input.
        """
        image = image_shape(shape)
        if isinstance(module, nn.AdaptiveAvgPool2d):
            kernel = _divided(image, module.output_size)
            return cls(image, kernel, kernel)
        padding = pair(module.padding)
        if module.ceil_mode or module.divisor_override is not None:
            raise UnsupportedLayer("supported are windows inside the padded image, divided by their size")
        if not module.count_include_pad and padding != (0, 0):
            raise UnsupportedLayer("supported is padding that counts, count_include_pad=True")
        return cls(image, pair(module.kernel_size), pair(module.stride), padding)


def _divided(image: tuple[int, int, int], outputs: int | tuple[int | None, ...] | None) -> Pair:
    """The windows of an adaptive pooling, if they are all of one size."""
    asked = outputs if isinstance(outputs, tuple) else (outputs, outputs)
    sides = [(n, n if out is None else out) for n, out in zip(image[1:], asked, strict=True)]
    if any(n % out for n, out in sides):
        raise UnsupportedLayer(f"{image[1:]} pixels cannot be divided into {asked} windows of one size")
    return pair(tuple(n // out for n, out in sides))
