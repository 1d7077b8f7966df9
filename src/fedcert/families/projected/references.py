"""The reference at which the noise of the layers beyond the first is taken: random or fixed activations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.families.projected.relaxation import Lines
from fedcert.families.projected.spread import Spread, read
from fedcert.laws.affine import IndependentRowNoise, RandomAffine, RowNoise
from fedcert.numerics.rounding import up


@dataclass(frozen=True)
class Ranges:
    """A hidden layer on its events: bounds over the region, and its law at the centre given earlier layers.

    Attributes:
        lower: lower bounds of the pre-activations, over the region.
        upper: upper bounds of the pre-activations, over the region.
        mean: upper bounds of the conditional means at the centre.
        deviation: upper bounds of the conditional deviations at the centre.
        ceiling: crude bounds of the activations.
        spread: how far the region moves the layer.
        lines: around what takes them to activations.
        independent: whether the neurons are independent, given earlier layers.
        rectified: whether that is a ReLU; otherwise the next layer reads the pre-activations.
    """

    lower: Float64[Tensor, "P m"]
    upper: Float64[Tensor, "P m"]
    mean: Float64[Tensor, "P m"]
    deviation: Float64[Tensor, "P m"]
    ceiling: Float64[Tensor, "P m"]
    spread: Spread
    lines: Lines
    independent: bool
    rectified: bool = True

    @property
    def activations(self) -> tuple[Float64[Tensor, "P m"], Float64[Tensor, "P m"]]:
        """Lower and upper bounds of the activations, over the region."""
        if not self.rectified:
            return self.lower, self.upper
        return self.lower.clamp(min=0.0), self.upper.clamp(min=0.0)


@runtime_checkable
class Reference(Protocol):
    """The reference at which the noise of the layers beyond the first is taken."""

    @property
    def factor(self) -> float:
        """The factor by which the tail of the noise exceeds the Gaussian tail, at most."""
        ...

    def deviation(self, noise: RowNoise, before: Ranges, u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """Bounds of the deviation of a row's noise at the reference."""
        ...

    def lost(
        self,
        depth: int,
        layers: Sequence[RandomAffine],
        radius: Float64[Tensor, "P p"],
        before: Sequence[Ranges],
        noise: RowNoise,
        u: Float64[Tensor, "P"],
    ) -> Float64[Tensor, "P R"]:
        """Bounds of a row's noise between the reference and any point of the region."""
        ...


@dataclass(frozen=True)
class Conditional:
    """h_ref = h(x_c), the random activations at the centre."""

    @property
    def factor(self) -> float:
        """2, by the reflection principle."""
        return 2.0

    def deviation(self, noise: RowNoise, before: Ranges, u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """√(Σ_k r_k² h_k² + r_b²), on an event of concentration; over the range if something is dependent."""
        if before.independent and before.rectified and isinstance(noise, IndependentRowNoise):
            return noise.at_rectified(before.mean, before.deviation, u)
        return noise.within(*before.activations)

    def lost(
        self,
        depth: int,
        layers: Sequence[RandomAffine],
        radius: Float64[Tensor, "P p"],
        before: Sequence[Ranges],
        noise: RowNoise,
        u: Float64[Tensor, "P"],
    ) -> Float64[Tensor, "P R"]:
        """sup_x |N·(h(x) − h(x_c))|: only the input region drives it."""
        return noise.over_moved(read(depth, layers, radius, [own.spread for own in before]), u)


@dataclass(frozen=True)
class Static:
    """h_ref = c, the centre of the activations' range."""

    @property
    def factor(self) -> float:
        """1: the sum is Gaussian."""
        return 1.0

    def deviation(self, noise: RowNoise, before: Ranges, u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """√(Σ_k r_k² c_k² + r_b²)."""
        centre, _ = self.middle(before)
        return noise.at(centre)

    def lost(
        self,
        depth: int,
        layers: Sequence[RandomAffine],
        radius: Float64[Tensor, "P p"],
        before: Sequence[Ranges],
        noise: RowNoise,
        u: Float64[Tensor, "P"],
    ) -> Float64[Tensor, "P R"]:
        """Σ_k |N_k| ρ_k for |h_k(x) − c_k| ≤ ρ_k."""
        _, half = self.middle(before[depth - 1])
        return noise.over(half, u)

    def middle(self, before: Ranges) -> tuple[Float64[Tensor, "P k"], Float64[Tensor, "P k"]]:
        """c, and ρ so that |h_k(x) − c_k| ≤ ρ_k."""
        low, high = before.activations
        centre = (low + high) / 2
        return centre, up(torch.maximum(high - centre, centre - low))
