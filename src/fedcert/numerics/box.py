"""Boxes: batches of axis-aligned hyper-rectangles, given by their end points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidBox
from fedcert.numerics.convert import doubled


@dataclass(frozen=True)
class Box:
    """A batch of boxes [lower, upper]; the end points *are* the set, to the last bit.

    Whatever computes a mass and whatever proves safety take the same `Box`, so both speak of the same
    set of real numbers, however the end points came about.

    Attributes:
        lower: ℓ, finite.
        upper: u ≥ ℓ, finite.

    Examples:
        >>> Box.around(torch.zeros(1, 2).double(), 0.5).upper.tolist()
        [[0.5, 0.5]]
    """

    lower: Float64[Tensor, "*shape"]
    upper: Float64[Tensor, "*shape"]

    def __post_init__(self) -> None:
        doubled(self, "the end points of a box", "lower", "upper")
        if self.lower.shape != self.upper.shape:
            raise InvalidBox(f"end points of shapes {tuple(self.lower.shape)} and {tuple(self.upper.shape)}")
        if self.lower.numel() == 0:
            return
        if not (-math.inf < self.lower.min() and self.upper.max() < math.inf):  # NaN is less than nothing
            raise InvalidBox("a box needs finite end points; found NaN or infinity")
        if not (self.lower <= self.upper).all():
            raise InvalidBox("a box needs lower ≤ upper in every coordinate")

    @classmethod
    def around(cls, center: Float64[Tensor, "*shape"], radius: Float64[Tensor, "*#shape"] | float) -> "Box":
        """The box [center − radius, center + radius], end points rounded to nearest."""
        return cls(center - radius, center + radius)

    @classmethod
    def point(cls, x: Float64[Tensor, "*shape"]) -> "Box":
        """The box that holds x alone."""
        return cls(x, x)

    @classmethod
    def stack(cls, boxes: Sequence["Box"]) -> "Box":
        """One batch of several boxes of the same shape."""
        return cls(torch.stack([b.lower for b in boxes]), torch.stack([b.upper for b in boxes]))

    @property
    def shape(self) -> torch.Size:
        """The shape of the end points, batch and coordinates."""
        return self.lower.shape

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, index: object) -> "Box":
        return Box(self.lower[index], self.upper[index])  # type: ignore[index]

    def to(self, device: torch.device | str) -> "Box":
        """The same boxes on another device."""
        return Box(self.lower.to(device), self.upper.to(device))


def overlap(box: Box, others: Box) -> Tensor:
    """Which of the others share interior points with the box; touching faces have no mass."""
    return ((box.lower < others.upper) & (others.lower < box.upper)).all(-1)
