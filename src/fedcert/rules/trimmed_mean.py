"""Rules made of order statistics: coordinate-wise median and trimmed mean.

They have no closed-form pushforward, so they offer transported certificates and estimates only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidWeights, ShapeMismatch
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import down, rounding_error, up
from fedcert.rules.protocol import Coefficients, Header

MAX_EXCHANGED = 8  # clients whose values are sorted by exchanging neighbours


@dataclass(frozen=True)
class TrimmedMean:
    """In each coordinate, the mean of what is left without the `trim` least and greatest values.

    Each order statistic of (x_1, …, x_n) is continuous and non-decreasing in every x_i: raising one
    value never lowers the number of values above a threshold. So is their mean, and the image of
    Π [ℓ_i, u_i] is exactly [A(ℓ_1, …, ℓ_n), A(u_1, …, u_n)], coordinate by coordinate.

    Attributes:
        clients: n.
        trim: how many values are dropped at each end, fewer than n/2.
        name: the rule's name in tables and claims.

    Examples:
        >>> values = [torch.tensor([x]).double() for x in (0.0, 1.0, 100.0)]
        >>> TrimmedMean.median(3)(values).item()
        1.0
    """

    clients: int
    trim: int
    name: str = "trimmed-mean"

    def __post_init__(self) -> None:
        if not 0 <= 2 * self.trim < self.clients:
            raise InvalidWeights(
                f"a trimmed mean of {self.clients} clients cannot drop {self.trim} values at each end"
            )

    @classmethod
    def median(cls, clients: int) -> "TrimmedMean":
        """The coordinate-wise median: only the one or two middle values are kept.

        Args:
            clients: n.
        """
        if clients < 1:
            raise InvalidWeights("a median needs at least one client")
        return cls(clients, (clients - 1) // 2, "median")

    @classmethod
    def from_description(cls, header: Header, coefficients: Coefficients) -> "TrimmedMean":
        """The rule that `describe` described; it has no coefficients."""
        return cls(header["clients"], header["trim"], header["name"])

    def describe(self) -> tuple[Header, Coefficients]:
        """What a file says of the rule: how many values it drops."""
        return {"type": "trimmed-mean", "trim": self.trim, "name": self.name, "clients": self.clients}, {}

    def to(self, device: torch.device | str) -> "TrimmedMean":
        """The same rule; it holds no tensors."""
        return self

    def __call__(self, thetas: Sequence[Float64[Tensor, "*batch n_w"]]) -> Tensor:
        """The trimmed mean of the parameters, in floating point."""
        return self._mean(thetas)[0]

    def image(self, boxes: Sequence[Box]) -> Box:
        """[A(ℓ_1, …, ℓ_n), A(u_1, …, u_n)], rounded outward: the exact image but for rounding."""
        lower, error_lower = self._mean([box.lower for box in boxes])
        upper, error_upper = self._mean([box.upper for box in boxes])
        return Box(down(lower - error_lower), up(upper + error_upper))

    def _mean(self, values: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The mean of the middle values and a bound of its rounding error; a median needs no rounding."""
        if len(values) != self.clients:
            raise ShapeMismatch(f"a rule for {self.clients} clients was given {len(values)}")
        if len({value.shape for value in values}) > 1:
            raise ShapeMismatch(
                "clients with parameters of different shapes: all must train the same network"
            )
        kept = _in_order(values)[self.trim : self.clients - self.trim]
        if len(kept) == 1:
            return kept[0], torch.zeros_like(kept[0])
        mean = kept.sum(0) / len(kept)
        return mean, rounding_error(len(kept) + 1, kept.abs().sum(0) / len(kept))


def _in_order(values: Sequence[Tensor]) -> Tensor:
    """The values of each coordinate in ascending order, along a new first axis.

    For few clients, exchanging neighbours is some times faster than sorting short columns.
    """
    if len(values) > MAX_EXCHANGED:
        return torch.stack(list(values)).sort(0).values
    rows = list(values)
    for last in range(len(rows) - 1, 0, -1):
        for i in range(last):
            rows[i], rows[i + 1] = torch.minimum(rows[i], rows[i + 1]), torch.maximum(rows[i], rows[i + 1])
    return torch.stack(rows)
