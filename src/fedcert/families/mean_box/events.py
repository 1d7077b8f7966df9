"""Boxes around the posterior mean, as large as the verifier accepts after transport.

A box [μ_d ± r_d σ_d] has the mass Π_d (1 − 2 Q(r_d)). Of all boxes with the same linearised cost
Σ_d c_d r_d, the heaviest has 2 φ(r_d) / (1 − 2 Q(r_d)) = λ c_d for one λ: a family of nested boxes, from
the widest at small λ to the mean at large λ. Equal costs give one radius for all parameters. Whatever
the costs, the resulting box itself is verified; the linearisation only chooses it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidConfig
from fedcert.families.cells import Cells
from fedcert.laws import BoxMeasurable, around, diagonal_components
from fedcert.numerics.box import Box, overlap

RESOLUTION = 4096  # number of radii in the table that inverts λ(r)


@dataclass(frozen=True)
class MeanBox:
    """Mean-centred boxes.

    Attributes:
        widest: the largest radius, in deviations; 8 leaves out a mass of 1.2e-15 per parameter.
        steps: the maximum number of bisection steps.
    """

    name: ClassVar[str] = "box"

    widest: float = 8.0
    steps: int = 16

    def __post_init__(self) -> None:
        if not 0 < self.widest < math.inf or self.steps < 1:
            raise InvalidConfig("a mean box needs a finite radius > 0 and at least one bisection step")

    @property
    def log_prices(self) -> tuple[float, float]:
        """Log λ of the widest and of the narrowest box, for unit costs."""
        radii = torch.tensor([self.widest, self.widest / RESOLUTION], dtype=torch.float64)
        low, high = log_price(radii).tolist()
        return low, high

    def radii(self, log_cost: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
        """The radius r with log λ(r) = log_cost, at most the widest; from a table, only to choose a box.

        The radius is rounded down to half precision, so that the box verified is exactly the one that a
        witness stores, in two bytes per radius.
        """
        table = torch.linspace(self.widest, self.widest / RESOLUTION, RESOLUTION, dtype=torch.float64)
        table = table.to(log_cost.device)
        prices = log_price(table)  # ascending
        after = torch.searchsorted(prices, log_cost.contiguous()).clamp(1, RESOLUTION - 1)
        before = after - 1
        share = ((log_cost - prices[before]) / (prices[after] - prices[before])).clamp(0.0, 1.0)
        return half_down(table[before] + share * (table[after] - table[before]))

    def cells(self, law: BoxMeasurable, radius: float) -> Cells:
        """One cell per component of the law, cut where two would overlap, with masses under the law.

        Two boxes that overlap are cut by a hyperplane across the coordinate in which their centres are
        farthest apart, in deviations; a component whose centre coincides with that of an earlier one has
        no cell of its own.
        """
        kept: list[tuple[Tensor, Box]] = []
        for component in diagonal_components(law):
            box = around(component, component.loc, radius)
            for k, (center, other) in enumerate(kept):
                if bool(overlap(box, other)):
                    distance = ((component.loc - center).abs() / component.scale).nan_to_num(nan=0.0)
                    d = int(distance.argmax())
                    if distance[d] == 0:
                        break
                    box, trimmed = _cut(box, other, d, component.loc[d] > center[d])
                    kept[k] = (center, trimmed)
            else:
                kept.append((component.loc, box))
        boxes = Box.stack([box for _, box in kept])
        return Cells.shared(boxes, law.log_mass(boxes))


def log_price(radius: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
    """Log [2 φ(r) / (1 − 2 Q(r))], the gain in log mass for a small step of the radius."""
    density = -radius.square() / 2 - 0.5 * math.log(2 * math.pi)
    return math.log(2) + density - torch.erf(radius / math.sqrt(2)).log()


def half_down(radius: Float64[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
    """The largest half-precision number that is at most the radius, which is > 0."""
    half = radius.to(torch.float16)
    before = (half.view(torch.int16) - 1).view(torch.float16)  # positive floats are ordered like integers
    return torch.where(half.double() > radius, before, half).double()


def _cut(box: Box, other: Box, d: int, above: Tensor | bool) -> tuple[Box, Box]:
    """Cut two overlapping boxes apart at the middle of their overlap along coordinate d."""
    low = torch.maximum(box.lower[d], other.lower[d])
    high = torch.minimum(box.upper[d], other.upper[d])
    plane = low + (high - low) / 2
    return (
        (_above(box, d, plane), _below(other, d, plane))
        if above
        else (_below(box, d, plane), _above(other, d, plane))
    )


def _above(box: Box, d: int, plane: Tensor) -> Box:
    lower = box.lower.clone()
    lower[d] = plane
    return Box(lower, box.upper)


def _below(box: Box, d: int, plane: Tensor) -> Box:
    upper = box.upper.clone()
    upper[d] = plane
    return Box(box.lower, upper)
