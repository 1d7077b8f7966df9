"""The rectifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fedcert.model.layers.activation import Line, Lines, Rising
from fedcert.model.layers.registry import register_layer
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import up


@register_layer
@dataclass(frozen=True)
class ReLU(Rising):
    """x ↦ max(x, 0), coordinate by coordinate.

    Examples:
        >>> ReLU()([], torch.tensor([[-1.0, 2.0]]))
        tensor([[0., 2.]])
    """

    name: ClassVar[str] = "relu"
    modules: ClassVar[tuple[type[nn.Module], ...]] = (nn.ReLU,)

    def __call__(
        self, parameters: Sequence[Tensor], x: Float[Tensor, "*xbatch n inputs"]
    ) -> Float[Tensor, "*batch n inputs"]:
        """max(x, 0)."""
        return x.clamp(min=0.0)

    def interval(self, parameters: Sequence[Bounds], x: Bounds) -> Bounds:
        """Both ends rectified: exact."""
        return Bounds(x.lower.clamp(min=0.0), x.upper.clamp(min=0.0))

    def lines(self, x: Bounds) -> Lines:
        """Below, a or 0; above, the chord from (l, relu(l)) to (u, relu(u)).

        A rounded slope s in [0, 1] is as good as the exact one: relu(a) ≤ s a + t on [l, u] for
        t ≥ max(−s l, (1 − s) u, 0), the ends of a convex function.
        """
        low, high = x
        below = ((low >= 0) | (high > -low)).to(low.dtype)
        slope = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, high / (high - low))).clamp(0, 1)
        height = torch.maximum(up(-slope * low), up(up(1 - slope) * high)).clamp(min=0.0)
        return Lines(Line(below), Line(slope, height))

    @classmethod
    def from_module(cls, module: nn.ReLU, shape: tuple[int, ...] | None) -> "ReLU":
        """Read a torch.nn.ReLU: it has no settings that change what it computes."""
        return cls()
