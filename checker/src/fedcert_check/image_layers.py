"""Layers that act on images: convolutions and pooling. An image is one flat vector, channel by channel."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from fedcert_check.validation import Array, natural, quoted, require, require_fields

Pair = tuple[int, int]
SIDES = {"kernel": 1, "stride": 1, "padding": 0, "dilation": 1}
"""The least size of each, in both directions."""


MAX_SEEN = 2**24
"""Entries of a kernel at all its positions: a table of them is made before the cost of a proof is known."""


@dataclass(frozen=True)
class Grid:
    """The positions of a kernel on an image that is padded with zeros.

    Attributes:
        image: channels, height and width.
        kernel: height and width.
        stride: from one position to the next.
        padding: rows and columns on either side.
        dilation: from one pixel of the kernel to the next.
    """

    image: tuple[int, int, int]
    kernel: Pair
    stride: Pair
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)

    def __post_init__(self) -> None:
        require(min(self.positions) >= 1, f"a kernel of {self.kernel} on an image of {self.image}")
        seen = prod(self.positions) * prod(self.kernel)
        require(seen <= MAX_SEEN, f"windows see {seen} entries of a kernel, more than {MAX_SEEN}")

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "Grid":
        """The grid of a layer's description."""
        image = _sizes(entry["image"], 3, 1, "a layer's image")
        sides = {
            name: _sizes(entry[name], 2, least, f"a layer's {name}")
            for name, least in SIDES.items()
            if name in entry
        }
        return cls((image[0], image[1], image[2]), **{name: (own[0], own[1]) for name, own in sides.items()})

    @property
    def positions(self) -> Pair:
        """How many there are, downwards and to the right."""
        span = [d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        room = [n + 2 * pad for n, pad in zip(self.image[1:], self.padding, strict=True)]
        down, right = (
            (have - need) // step + 1 for have, need, step in zip(room, span, self.stride, strict=True)
        )
        return down, right

    @property
    def pixels(self) -> int:
        """The length of the input."""
        return prod(self.image)

    def seen(self) -> Array:
        """The pixel of a channel that each entry of the kernel sees, of shape (L, K); −1 for padding."""
        _, height, width = self.image
        (i, j), (p, q) = np.indices(self.positions), np.indices(self.kernel)
        row = i.reshape(-1, 1) * self.stride[0] + p.reshape(-1) * self.dilation[0] - self.padding[0]
        column = j.reshape(-1, 1) * self.stride[1] + q.reshape(-1) * self.dilation[1] - self.padding[1]
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        return np.where(inside, row * width + column, -1)


def _sizes(value: Any, length: int, least: int, what: str) -> tuple[int, ...]:
    require(isinstance(value, list) and len(value) == length, f"{what} is {quoted(value)}")
    return tuple(natural(own, least, what) for own in value)


@dataclass(frozen=True)
class Conv2d:
    """A convolution. Its parameters are W, of shape (filters, channels of a group, *kernel), and then b.

    Attributes:
        grid: where the kernel goes.
        filters: number of output channels.
        groups: of channels; each filter sees one.
    """

    grid: Grid
    filters: int
    groups: int

    def __post_init__(self) -> None:
        divided = self.grid.image[0] % self.groups == 0 == self.filters % self.groups
        require(divided, f"{self.grid.image[0]} channels and {self.filters} filters in {self.groups} groups")

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "Conv2d":
        """The layer of a network's description."""
        require_fields(entry, {"type", "image", "filters", "groups", *SIDES}, "a conv2d layer")
        filters, groups = (
            natural(entry[name], 1, f"a layer's number of {name}") for name in ("filters", "groups")
        )
        return cls(Grid.read(entry), filters, groups)

    @property
    def inputs(self) -> int:
        """The number of pixels."""
        return self.grid.pixels

    @property
    def outputs(self) -> int:
        """The number of neurons."""
        return self.filters * prod(self.grid.positions)

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of entries of W and of b."""
        return self.filters * self.grid.image[0] // self.groups * prod(self.grid.kernel), self.filters

    def matrix(self, weight: Array, bias: Array, zero: Any) -> tuple[Array, Array]:
        """The matrix and the offsets of all neurons, with zeros where a neuron does not look.

        Args:
            weight: the entries of W.
            bias: b.
            zero: the number 0, of the kind that the weights are.
        """
        channels, area = self.grid.image[0] // self.groups, prod(self.grid.image[1:])
        places, entries = prod(self.grid.positions), prod(self.grid.kernel)
        rows = np.full((self.filters, places, self.inputs), zero, dtype=np.asarray(weight).dtype)
        kernels = np.asarray(weight).reshape(self.filters, channels, entries)
        seen = self.grid.seen()
        at, which = np.nonzero(seen >= 0)
        for f in range(self.filters):
            first = f // (self.filters // self.groups) * channels
            for c in range(channels):
                rows[f, at, (first + c) * area + seen[at, which]] = kernels[f, c, which]
        return rows.reshape(self.outputs, self.inputs), np.repeat(bias, places)


@dataclass(frozen=True)
class Pool2d:
    """One number for each window, channel by channel.

    Attributes:
        grid: where the windows are.
    """

    grid: Grid

    @property
    def inputs(self) -> int:
        """The number of pixels."""
        return self.grid.pixels

    @property
    def outputs(self) -> int:
        """The number of windows, of all channels."""
        return self.grid.image[0] * prod(self.grid.positions)


class AvgPool2d(Pool2d):
    """Means over windows, channel by channel; padding counts as zeros."""

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "AvgPool2d":
        """The layer of a network's description."""
        require_fields(entry, {"type", "image", "kernel", "stride", "padding"}, "an avg-pool2d layer")
        return cls(Grid.read(entry))

    @property
    def convolution(self) -> Conv2d:
        """The same windows as a convolution, each filter of one channel."""
        channels = self.grid.image[0]
        return Conv2d(self.grid, channels, channels)

    def mask(self) -> Array:
        """Which pixels each window sees, of shape (outputs, inputs)."""
        channels, area = self.grid.image[0], prod(self.grid.image[1:])
        places, seen = prod(self.grid.positions), self.grid.seen()
        mask = np.zeros((channels, places, channels, area), dtype=bool)
        at, which = np.nonzero(seen >= 0)
        for c in range(channels):
            mask[c, at, c, seen[at, which]] = True
        return mask.reshape(self.outputs, self.inputs)


class MaxPool2d(Pool2d):
    """Maxima over windows without padding, channel by channel."""

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "MaxPool2d":
        """The layer of a network's description."""
        require_fields(entry, {"type", "image", "kernel", "stride", "dilation"}, "a max-pool2d layer")
        return cls(Grid.read(entry))

    def windows(self) -> Array:
        """The pixels of each window, of shape (outputs, K)."""
        channels, area = self.grid.image[0], prod(self.grid.image[1:])
        return (self.grid.seen() + area * np.arange(channels)[:, None, None]).reshape(self.outputs, -1)
