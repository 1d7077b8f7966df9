"""A layer of one's own: HardTanh, a ↦ min(max(a, −1), 1), coordinate by coordinate.

Importing this file registers it: networks, files, verifiers and `from_torch` then know it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers import Lines, Rising, register_layer
from fedcert.numerics.interval import Bounds


@register_layer
@dataclass(frozen=True)
class HardTanh(Rising):
    """a ↦ min(max(a, −1), 1)."""

    name = "hard-tanh"
    modules = (nn.Hardtanh,)

    def __call__(self, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
        """The nearest number of [−1, 1]."""
        return x.clamp(-1.0, 1.0)

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """Both ends: the function does not decrease, and clamping is exact."""
        return Bounds(self((), x.lower), self((), x.upper))

    def lines(self, x: Bounds) -> Lines:
        """Above, the chord up to the upper kink; below, the chord from the lower one; both moved outward."""
        low, high = x
        kinks = [torch.clamp(torch.full_like(low, kink), low, high) for kink in (-1.0, 1.0)]
        below, above = self._chord(kinks[0], high), self._chord(low, kinks[1])
        return Lines.touching(
            below, above, [(a, Bounds(self((), a), self((), a))) for a in (low, high, *kinks)]
        )

    def _chord(self, start: Tensor, end: Tensor) -> Tensor:
        """The slope between two points of the graph; 0 where they coincide."""
        return torch.where(start < end, (self((), end) - self((), start)) / (end - start), 0.0)

    @classmethod
    def from_module(cls, module: nn.Hardtanh, shape: tuple[int, ...] | None) -> "HardTanh":
        """A torch.nn.Hardtanh with its usual range."""
        if (module.min_val, module.max_val) != (-1.0, 1.0):
            raise UnsupportedLayer(f"a Hardtanh onto [{module.min_val}, {module.max_val}], not [-1, 1]")
        return cls()
