"""The residual addition as a torch module, for those who write an nn.Sequential."""

from typing import Any

from torch import nn


class Residual(nn.Module):
    """body(x) + shortcut(x), where a missing shortcut is x itself.

    A forward of one's own may add as well: `from_torch` reads `self.body(x) + x` just the same.

    Attributes:
        body: f.
        shortcut: s, such as a convolution of 1 × 1 pixels where the body has a stride.

    Examples:
        >>> from fedcert import from_torch
        >>> block = Residual(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3)))
        >>> [type(layer).__name__ for layer in from_torch(nn.Sequential(block, nn.Linear(3, 2))).layers]
        ['ResidualSum', 'Linear']
    """

    def __init__(self, body: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.body = body
        self.shortcut = nn.Identity() if shortcut is None else shortcut

    def forward(self, x: Any) -> Any:
        """Add what both make of x."""
        return self.body(x) + self.shortcut(x)
