"""Weighted averages: FedAvg and Product-of-Gaussians."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidWeights, ShapeMismatch
from fedcert.laws import DiagonalGaussian, DiagonalLaw
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import require_float64
from fedcert.rules.linear import LinearRule


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
        require_float64("the weights of an average", self.weights)
        if self.weights.dim() != 2 or len(self.weights) == 0:
            raise InvalidWeights(f"weights of shape {tuple(self.weights.shape)}, not (clients, 1 or n_w)")
        if not (self.weights >= 0).all():
            raise InvalidWeights(
                "the weights of an average must be ≥ 0; found a negative weight or NaN (a LinearRule takes"
                " negative ones)"
            )
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
    def product_of_gaussians(cls, laws: Sequence[DiagonalLaw]) -> "WeightedAverage":
        """The weights w_i = σ_i^-2 / Σ_j σ_j^-2, for which Σ w_i Θ_i has the law ∝ Π q_i.

        Its mean is Σ_i w_i μ_i and its variance Σ_i w_i² σ_i² = (Σ_i σ_i^-2)^-1: the product of the
        Gaussian densities, normalised.
        """
        if len({law.dimension for law in laws}) > 1:
            raise ShapeMismatch(
                f"clients with {sorted({law.dimension for law in laws})} parameters:"
                " all must train the same network"
            )
        scale = torch.stack([law.scale for law in laws])
        relative_precision = (scale.min(0).values / scale).square()
        return cls(relative_precision / relative_precision.sum(0), "pog")

    @property
    def linear(self) -> LinearRule:
        """The average as a linear rule, which knows images and pushforwards."""
        return LinearRule(self.weights, None, self.name)

    @property
    def clients(self) -> int:
        """n, the number of clients."""
        return len(self.weights)

    def to(self, device: torch.device | str) -> "WeightedAverage":
        """The same rule on another device."""
        return WeightedAverage(self.weights.to(device), self.name)

    def __call__(self, thetas: Sequence[Float64[Tensor, "*batch n_w"]]) -> Tensor:
        """Σ_i w_i θ_i, in floating point."""
        return self.linear(thetas)

    def image(self, boxes: Sequence[Box]) -> Box:
        """Π_d [Σ_i w_i ℓ_i,d, Σ_i w_i u_i,d] (eq. global_aggregated_cell), rounded outward."""
        return self.linear.image(boxes)

    def pushforward(self, laws: Sequence[DiagonalLaw]) -> DiagonalGaussian:
        """N(Σ_i w_i μ_i, diag Σ_i w_i² σ_i²), with what rounding may have done to it."""
        return self.linear.pushforward(laws)
