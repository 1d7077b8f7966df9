"""Which windows of a convolution see each pixel, and at which of their entries."""

from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.model.layers import Conv2d


@dataclass(frozen=True)
class Overlaps:
    """The windows that see each pixel; a pixel has a group, and a window sees it at one entry.

    Attributes:
        flat: group and position of each of them, as one number; the last one names nothing.
        entry: κ; 0 where there is none.
    """

    flat: Int64[Tensor, "k w"]
    entry: Int64[Tensor, "k w"]

    @classmethod
    def of(cls, layer: Conv2d, device: torch.device) -> "Overlaps":
        """Those of a convolution."""
        table = layer.windows.window_table(device)
        groups, places, entries = layer.windows.pixel_table().shape
        missing = table == groups * places * entries
        flat = torch.where(missing, groups * places, table // entries)
        return cls(flat, torch.where(missing, 0, table % entries))

    def pick(self, values: Float64[Tensor, "G a L n"]) -> Float64[Tensor, "a k w n"]:
        """What is said of each pixel by the windows that see it; 0 where there is none."""
        by_place = values.movedim(0, 1).flatten(1, 2)
        padded = torch.cat([by_place, torch.zeros_like(by_place[:, :1])], 1)
        seen: Tensor = padded.index_select(1, self.flat.flatten()).unflatten(1, self.flat.shape)
        return seen


def positions(layer: Conv2d) -> Int64[Tensor, "k f K"]:
    """The position at which a filter's entry sees each pixel; the number of positions where none does."""
    table = layer.windows.pixel_table()
    groups, places, entries = table.shape
    found = torch.full((layer.inputs + 1, groups, entries), places)
    axes = torch.meshgrid(*map(torch.arange, table.shape), indexing="ij")
    group, position, entry = (own.flatten() for own in axes)
    found[table.flatten(), group, entry] = position
    return found[:-1].repeat_interleave(layer.filters // groups, dim=1)
