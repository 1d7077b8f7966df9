"""Receptive fields: the neurons of a convolution at one position see a part of the image alone.

A row of one neuron is 0 outside of what the neuron sees. So the rows of all positions are taken together, as
so many small networks with the same kernels, on the parts of the image that the positions see: each is a
batch of small problems instead of rows of the size of the image. Pixels and neurons beyond the border are 0,
as padding is.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.families.projected.view import View
from fedcert.laws.affine import RandomAffine
from fedcert.laws.conv_affine import ConvAffine
from fedcert.laws.dependent_conv import DependentConvAffine
from fedcert.model.layers.windows import Pair

ELEMENTS = 2**22  # maximum number of coefficients held at a time, which bounds the memory

Patch = tuple[int, int, int]
"""Channels, height and width."""


class Fields:
    """What the neurons of each layer see.

    Args:
        layers: of a network.
    """

    def __init__(self, layers: Sequence[RandomAffine]) -> None:
        self.layers = layers

    @cached_property
    def convolved(self) -> int:
        """The number of convolutions at the beginning, each on the image that the one before computes."""
        found: list[ConvAffine] = []
        for layer in self.layers:
            if not isinstance(layer, ConvAffine):
                break
            if found and layer.layer.image != found[-1].layer.output_shape(()):
                break
            found.append(layer)
        return len(found)

    def convolutions(self, depth: int) -> list[ConvAffine]:
        """The layers up to layers[depth], if its neurons see a part of the image alone; else none."""
        own = [layer for layer in self.layers[: depth + 1] if isinstance(layer, ConvAffine)]
        if depth >= self.convolved:
            return []
        whole = sum(layer.inputs for layer in own)
        return own if sum(map(prod, patches(own))) < whole else []

    def views(
        self, view: View, depth: int, kappa: Float64[Tensor, "P"]
    ) -> Iterator[tuple[View, Float64[Tensor, "P"]]]:
        """Views of all neurons of a layer, each a batch of problems, with κ of each problem.

        Args:
            view: of the network up to layers[depth].
            depth: of the layer.
            kappa: κ of each property.
        """
        own = self.convolutions(depth)
        if not own:
            yield view, kappa
            return
        seen = patches(own)
        tables = [table.to(kappa.device) for table in pixel_tables(own, seen)]
        layers = on_patches(own, seen)
        held = [layer.held() for layer in layers if isinstance(layer, DependentConvAffine)]
        each = len(kappa) * 2 * own[-1].filters * max([*map(prod, seen), *held])
        step = max(1, ELEMENTS // each)
        clients = [on_patches([c for c in part if isinstance(c, ConvAffine)], seen) for part in view.clients]
        for start in range(0, own[-1].places, step):
            part = [table[start : start + step] for table in tables]
            yield view.narrowed(layers, clients, part), kappa.repeat_interleave(len(part[0]))

    def whole(self, parts: Sequence[Float64[Tensor, "PL f"]], depth: int) -> Float64[Tensor, "P m"]:
        """What was found for the neurons of each view, in the order of the layer's outputs.

        Args:
            parts: of each view.
            depth: of the layer.
        """
        own = self.convolutions(depth)
        if not own:
            return parts[0]
        filters, places = own[-1].filters, own[-1].places
        count = sum(len(part) for part in parts) // places
        by_place: list[Tensor] = [part.view(count, -1, filters) for part in parts]
        return torch.cat(by_place, dim=1).mT.flatten(1)


def patches(layers: Sequence[ConvAffine]) -> list[Patch]:
    """What one position of the last of some convolutions sees of the inputs of each of them.

    Args:
        layers: convolutions, each on the image that the one before computes.
    """
    sides: Pair = (1, 1)
    found: list[Patch] = []
    for layer in reversed(layers):
        own = layer.layer
        height, width = (
            (n - 1) * step + dil * (k - 1) + 1
            for n, step, dil, k in zip(sides, own.stride, own.dilation, own.kernel, strict=True)
        )
        sides = (height, width)
        found.insert(0, (own.image[0], height, width))
    return found


def on_patches(layers: Sequence[ConvAffine], seen: Sequence[Patch]) -> list[RandomAffine]:
    """The layers on these patches; the last has one position, where it is fully connected.

    Args:
        layers: convolutions.
        seen: a patch for each.
    """
    own = [layer.on(patch) for layer, patch in zip(layers, seen, strict=True)]
    return [*own[:-1], own[-1].at_one_position()]


def pixel_tables(layers: Sequence[ConvAffine], seen: Sequence[Patch]) -> list[Int64[Tensor, "L _"]]:
    """Which inputs of each layer, and which outputs of the last, belong to each of its positions.

    A number beyond the last pixel names nothing: it is out of the image.

    Args:
        layers: convolutions, each on the image that the one before computes.
        seen: what a position of the last one sees of the inputs of each.
    """
    last = layers[-1].layer
    down, right = last.windows.positions
    corner = torch.stack(torch.meshgrid(torch.arange(down), torch.arange(right), indexing="ij"), -1)
    corner = corner.view(-1, 2)
    places = down * right
    found = [torch.arange(last.filters) * places + torch.arange(places).unsqueeze(-1)]
    for layer, patch in zip(reversed(layers), reversed(seen), strict=True):
        own = layer.layer
        corner = corner * torch.tensor(own.stride) - torch.tensor(own.padding)
        found.insert(0, _pixels(own.image, patch, corner))
    return found


def _pixels(image: Patch, patch: Patch, corner: Int64[Tensor, "L 2"]) -> Int64[Tensor, "L n"]:
    """The pixels of patches that begin at these rows and columns."""
    channels, height, width = image
    rows = (corner[:, :1] + torch.arange(patch[1]))[:, None, :, None]
    columns = (corner[:, 1:] + torch.arange(patch[2]))[:, None, None, :]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    each = height * width * torch.arange(channels).view(-1, 1, 1) + rows * width + columns
    return torch.where(inside, each, channels * height * width).flatten(1)
