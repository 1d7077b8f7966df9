"""Where the kernel of a convolution or a pooling layer looks: which pixels, at each of its positions."""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from numbers import Integral

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from fedcert.errors import ShapeMismatch

Pair = tuple[int, int]


@dataclass(frozen=True)
class Windows:
    """K pixels at each of L positions of an image, for each of G groups of channels.

    Gathering and scattering pick numbers by a table, so that they round nothing, but for the sums of what
    several windows say of one pixel.

    Attributes:
        image: channels, height and width of the input.
        kernel: height and width of a window.
        stride: between neighbouring windows, downwards and to the right.
        padding: rows and columns of zeros on either side.
        dilation: between neighbouring pixels of a window.
        groups: G; a window sees the channels of one group.
    """

    image: tuple[int, int, int]
    kernel: Pair
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1

    def __post_init__(self) -> None:
        for name, least, length in (
            ("image", 1, 3), ("kernel", 1, 2), ("stride", 1, 2), ("padding", 0, 2), ("dilation", 1, 2),
        ):  # fmt: skip
            sizes = getattr(self, name)
            if not (
                isinstance(sizes, tuple) and len(sizes) == length and all(_natural(n, least) for n in sizes)
            ):
                raise ShapeMismatch(f"{name} {sizes!r}: {length} whole numbers from {least} on are needed")
        if not _natural(self.groups, 1) or self.image[0] % self.groups:
            raise ShapeMismatch(f"{self.image[0]} channels cannot be divided into {self.groups!r} groups")
        if min(self.positions) < 1:
            raise ShapeMismatch(f"windows of {self.kernel} do not fit into an image of {self.image}")

    @property
    def positions(self) -> Pair:
        """How many windows there are, downwards and to the right."""
        sides = zip(self.image[1:], self.kernel, self.stride, self.padding, self.dilation, strict=True)
        down, right = ((n + 2 * pad - dil * (k - 1) - 1) // step + 1 for n, k, step, pad, dil in sides)
        return down, right

    @property
    def pixels(self) -> int:
        """The length of an input."""
        return prod(self.image)

    @property
    def overlap(self) -> int:
        """The number of windows of a group that see one pixel, at most."""
        return _windows_of_pixels(self).shape[-1]

    def pixel_table(self, device: torch.device | None = None) -> Int64[Tensor, "G L K"]:
        """The pixel that each entry of a window sees; the number of pixels where it is padding."""
        return _pixels_of_windows(self).to(device)

    def window_table(self, device: torch.device | None = None) -> Int64[Tensor, "pixels overlap"]:
        """The entries of the flat table of windows that see each pixel; its length where there is none."""
        return _windows_of_pixels(self).to(device)

    def gather(self, x: Float[Tensor, "*batch pixels"]) -> Float[Tensor, "*batch G L K"]:
        """What each window sees."""
        padded = torch.cat([x, torch.zeros_like(x[..., :1])], -1)
        table = self.pixel_table(x.device)
        seen: Tensor = padded.index_select(-1, table.flatten()).unflatten(-1, table.shape)
        return seen

    def scatter(self, seen: Float[Tensor, "*batch G L K"]) -> Float[Tensor, "*batch pixels"]:
        """The transpose: for each pixel, the sum over all windows that see it, of `overlap` terms at most."""
        flat = seen.flatten(-3)
        padded = torch.cat([flat, torch.zeros_like(flat[..., :1])], -1)
        table = self.window_table(seen.device)
        each: Tensor = padded.index_select(-1, table.flatten()).unflatten(-1, table.shape)
        return each.sum(-1)


def _natural(number: object, least: int) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= least


@lru_cache(maxsize=64)
def _pixels_of_windows(windows: Windows) -> Int64[Tensor, "G L K"]:
    channels, height, width = windows.image
    sides = zip(
        windows.positions, windows.kernel, windows.stride, windows.padding, windows.dilation, strict=True
    )
    rows, columns = (
        (step * torch.arange(count).unsqueeze(-1) + dil * torch.arange(k) - pad)
        for count, k, step, pad, dil in sides
    )
    rows, columns = rows[:, None, :, None], columns[None, :, None, :]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    table = (rows * width + columns).flatten(2).flatten(0, 1)
    each = table + height * width * torch.arange(channels).view(-1, 1, 1)
    each = torch.where(inside.flatten(2).flatten(0, 1), each, windows.pixels)
    grouped: Tensor = each.unflatten(0, (windows.groups, -1))
    return grouped.transpose(1, 2).flatten(-2)


@lru_cache(maxsize=64)
def _windows_of_pixels(windows: Windows) -> Int64[Tensor, "pixels overlap"]:
    """For each pixel, where the flat table of windows names it; one past its end where it does so no more."""
    flat = _pixels_of_windows(windows).flatten()
    places = flat.argsort(stable=True)
    counts = torch.bincount(flat, minlength=windows.pixels + 1)[: windows.pixels]
    places = places[: int(counts.sum())]  # what is left names padding
    owner = torch.repeat_interleave(torch.arange(windows.pixels), counts)
    start = (counts.cumsum(0) - counts)[owner]
    table = torch.full((windows.pixels, max(1, int(counts.max()))), flat.numel())
    table[owner, torch.arange(len(places)) - start] = places
    return table
