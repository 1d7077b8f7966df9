"""Aggregation rules: what the server makes of the clients' parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.box import Box
from fedcert.errors import InvalidWeights, ShapeMismatch
from fedcert.laws import DiagonalGaussian
from fedcert.numerics import down, gamma, rounding_error, up


@runtime_checkable
class AggregationRule(Protocol):
    """A deployed map Θ_g = A(Θ_1, …, Θ_n).

    `image` must contain A(Π H_i); a rule whose image is larger than that set, rounding apart, says so
    in its documentation.
    """

    @property
    def name(self) -> str:
        """The rule's name in tables and claims."""
        ...

    @property
    def clients(self) -> int:
        """n, the number of clients."""
        ...

    def __call__(self, thetas: Sequence[Float64[Tensor, "*batch n_w"]]) -> Tensor:
        """A(θ_1, …, θ_n), in floating point."""
        ...

    def image(self, boxes: Sequence[Box]) -> Box:
        """A box that contains A(H_1 × … × H_n)."""
        ...

    def pushforward(self, laws: Sequence[DiagonalGaussian]) -> DiagonalGaussian:
        """The law of A(Θ_1, …, Θ_n) for independent Θ_i ~ q_i."""
        ...


@dataclass(frozen=True)
class WeightedAverage:
    """Θ_g = Σ_i w_i Θ_i with weights w_i ≥ 0, one for each client or one for each parameter.

    FedAvg and Product-of-Gaussians differ in their weights alone. The rule is the linear map with
    *these* floating-point weights: they are part of the claim. That they sum to one is checked to 1e-9,
    to catch weights that were never normalised; no bound relies on it.

    Attributes:
        weights: w (α in the paper), of shape (n, 1) or (n, n_w).
        name: the rule's name in tables and claims.
    """

    weights: Float64[Tensor, "n n_w_or_1"]
    name: str = "weighted-average"

    def __post_init__(self) -> None:
        if not (self.weights >= 0).all():
            raise InvalidWeights("aggregation weights must be ≥ 0; found a negative weight or NaN")
        if not ((self.weights.sum(0) - 1).abs() <= 1e-9).all():
            raise InvalidWeights(
                f"aggregation weights must sum to one, not {self.weights.sum(0)[0].item()}:"
                " divide them by their sum"
            )

    @classmethod
    def fedavg(cls, sizes: Sequence[int]) -> "WeightedAverage":
        """FedAvg with weights proportional to the clients' sizes; equal sizes give 1/n each."""
        if not sizes or min(sizes) < 1:
            raise InvalidWeights(f"FedAvg needs at least one client and positive sizes, not {sizes}")
        counts = torch.tensor(sizes, dtype=torch.float64)
        return cls((counts / counts.sum()).unsqueeze(-1), "fedavg")

    @classmethod
    def product_of_gaussians(cls, laws: Sequence[DiagonalGaussian]) -> "WeightedAverage":
        """The weights w_i = σ_i^-2 / Σ_j σ_j^-2, for which Σ w_i Θ_i has the law ∝ Π q_i.

        Its mean is Σ_i w_i μ_i and its variance Σ_i w_i² σ_i² = (Σ_i σ_i^-2)^-1: the product of the
        Gaussian densities, normalised.
        """
        scale = _stack([law.scale for law in laws])
        relative_precision = (scale.min(0).values / scale).square()
        return cls(relative_precision / relative_precision.sum(0), "pog")

    @property
    def clients(self) -> int:
        """n, the number of clients."""
        return len(self.weights)

    def to(self, device: torch.device | str) -> "WeightedAverage":
        """The same rule on another device."""
        return WeightedAverage(self.weights.to(device), self.name)

    def __call__(self, thetas: Sequence[Float64[Tensor, "*batch n_w"]]) -> Tensor:
        """Σ_i w_i θ_i, in floating point."""
        return self._combine(thetas)[0]

    def image(self, boxes: Sequence[Box]) -> Box:
        """Π_d [Σ_i w_i ℓ_i,d, Σ_i w_i u_i,d], rounded outward: the exact image but for rounding.

        The map is continuous and non-decreasing in each coordinate of each client, so it takes its
        extremes at the end points and, on a connected set, every value between.
        """
        lower, error_lower = self._combine([box.lower for box in boxes])
        upper, error_upper = self._combine([box.upper for box in boxes])
        return Box(down(lower - error_lower), up(upper + error_upper))

    def pushforward(self, laws: Sequence[DiagonalGaussian]) -> DiagonalGaussian:
        """N(Σ_i w_i μ_i, diag Σ_i w_i² σ_i²), with what rounding may have done to it.

        Each w_i² σ_i² passes through 3 roundings, the sum through n − 1 and the root through one more
        (it halves the relative error before): n + 4 at most.
        """
        if any(law.loc_error is not None or law.scale_error for law in laws):
            raise NotImplementedError("pushforward of laws that are themselves only enclosed")
        loc, loc_error = self._combine([law.loc for law in laws])
        scale = _stack([self._weight(i) * law.scale for i, law in enumerate(laws)])
        return DiagonalGaussian(
            loc,
            scale.square().sum(0).sqrt(),
            loc_error=loc_error,
            scale_error=gamma(2 * (self.clients + 4)),
        )

    def _weight(self, client: int) -> Float64[Tensor, "n_w_or_1"]:
        return self.weights[client]

    def _combine(self, values: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Σ_i w_i v_i and a bound of its rounding error; term i passes through n + 1 roundings."""
        if len(values) != self.clients:
            raise ShapeMismatch(f"a rule for {self.clients} clients was given {len(values)}")
        total = torch.zeros_like(values[0])
        magnitude = torch.zeros_like(values[0])
        for i, value in enumerate(values):
            if value.shape != values[0].shape:
                raise ShapeMismatch(
                    f"client {i} has parameters of shape {tuple(value.shape)},"
                    f" client 0 of {tuple(values[0].shape)}: all must train the same network"
                )
            total = torch.addcmul(total, self._weight(i), value)
            magnitude = torch.addcmul(magnitude, self._weight(i), value.abs())
        return total, rounding_error(self.clients + 1, magnitude)


def _stack(rows: Sequence[Tensor]) -> Tensor:
    if len({row.shape for row in rows}) > 1:
        raise ShapeMismatch(
            f"clients with {sorted({len(row) for row in rows})} parameters: all must train the same network"
        )
    return torch.stack(list(rows))
