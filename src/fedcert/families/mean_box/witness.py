"""The witness of `box` certificates: the best box of each property, in a compact form."""

import math
from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.model.network import Network
from fedcert.numerics.box import Box
from fedcert.witness import Witness


class MeasureKind(IntEnum):
    """How the mass of a property's event is computed."""

    NOTHING = 0
    LATTICE = 1
    PRODUCT = 2
    TILES = 3


class BoxWitnessBuilder:
    """Collects the choices of `certify_boxes`; a later choice for a property replaces an earlier one."""

    def __init__(self, network: Network, properties: int, laws: int) -> None:
        sizes = [math.prod(shape) for layer in network.layers for shape in layer.shapes]
        self.starts = [0, *accumulate(sizes)][:-1]
        self.shape = (laws, sum(sizes))
        self.kind = torch.zeros(properties, dtype=torch.uint8)
        self.tensor = torch.zeros(properties, len(sizes), dtype=torch.float16)
        self.parameter: dict[int, Tensor] = {}
        self.products: dict[int, list[Box]] = {}

    def radii(
        self, kind: MeasureKind, p: int, radius: Float64[Tensor, "n_w_or_1"], one_a_tensor: bool
    ) -> None:
        """Record that property p has a mean-centred box with these radii, which are half-precision numbers.

        Args:
            kind: how the mass of the box is computed.
            p: the property.
            radius: one radius per parameter, or one for all.
            one_a_tensor: whether all parameters of one tensor share their radius.
        """
        own = radius.cpu().to(torch.float16).expand(self.shape[1])
        self.kind[p] = int(kind)
        self.parameter.pop(p, None)
        if one_a_tensor:
            self.tensor[p] = own[self.starts]
        else:
            self.parameter[p] = own

    def tiles(self, p: int, products: list[Box]) -> None:
        """Record that property p has disjoint products of boxes, with one box per law."""
        self.kind[p] = int(MeasureKind.TILES)
        self.tensor[p] = 0
        self.parameter.pop(p, None)
        self.products[p] = products

    def witness(self) -> Witness:
        """The tensors that docs/certificate-format.md describes."""
        row = torch.full((len(self.kind),), -1, dtype=torch.int32)
        for place, p in enumerate(self.parameter):
            row[p] = place
            self.tensor[p] = 0
        tiles = [(p, box) for p, boxes in self.products.items() for box in boxes]
        return Witness({
            "view": self.kind,
            "radius.tensor": self.tensor,
            "radius.row": row,
            "radius.parameter": _stack(list(self.parameter.values()), self.shape[1:], torch.float16),
            "tiles.property": torch.tensor([p for p, _ in tiles], dtype=torch.int32),
            "tiles.lower": _stack([box.lower.cpu() for _, box in tiles], self.shape, torch.float64),
            "tiles.upper": _stack([box.upper.cpu() for _, box in tiles], self.shape, torch.float64),
        })


def _stack(tensors: Sequence[Tensor], shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """The tensors stacked into one, even if there are none."""
    return torch.stack(list(tensors)) if tensors else torch.zeros(0, *shape, dtype=dtype)
