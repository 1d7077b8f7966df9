"""Finite mixtures of diagonal Gaussians: a deep ensemble, several modes of a posterior."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.box import Box
from fedcert.errors import InvalidLaw
from fedcert.laws.diagonal import DiagonalGaussian
from fedcert.numerics import down, exp_down, exp_up, log_down, log_up, require_float64, sum_down, sum_up, up


@dataclass(frozen=True)
class GaussianMixture:
    """Σ_k π_k N(μ_k, diag σ_k²), with weights that are normalised exactly: π_k = weight_k / Σ_j weight_j.

    Attributes:
        components: the Gaussians.
        weights: positive numbers, one a component.
    """

    components: tuple[DiagonalGaussian, ...]
    weights: Float64[Tensor, "K"]

    def __post_init__(self) -> None:
        require_float64("the weights of a mixture", self.weights)
        if len(self.components) != len(self.weights) or not self.components:
            raise InvalidLaw(f"{len(self.components)} components but {len(self.weights)} weights")
        if len({component.dimension for component in self.components}) > 1:
            raise InvalidLaw("the components of a mixture differ in dimension")
        if not ((self.weights > 1e-100) & (self.weights < 1e100)).all():
            raise InvalidLaw("the weights of a mixture must be positive, finite numbers")

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        return self.components[0].dimension

    @property
    def loc(self) -> Float64[Tensor, "n_w"]:
        """The mean Σ_k π_k μ_k, in floating point."""
        share = self.weights / self.weights.sum()
        return share @ torch.stack([component.loc for component in self.components])

    def project(self, direction: Float64[Tensor, "n_w"]) -> "GaussianMixture":
        """The law of aᵀΘ for a direction a: the mixture of the components' projections."""
        projected = tuple(component.project(direction) for component in self.components)
        return GaussianMixture(projected, self.weights)

    def to(self, device: torch.device | str) -> "GaussianMixture":
        """The same law on another device."""
        components = tuple(component.to(device) for component in self.components)
        return GaussianMixture(components, self.weights.to(device))

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """Draw a component for each sample, then from it."""
        share = self.weights.to(generator.device)
        chosen = torch.multinomial(share, count, replacement=True, generator=generator)
        samples = torch.empty(count, self.dimension, dtype=torch.float64, device=self.weights.device)
        for k, component in enumerate(self.components):
            mine = (chosen == k).to(samples.device)
            samples[mine] = component.sample(int(mine.sum()), generator)
        return samples

    def log_mass(self, box: Box) -> Float64[Tensor, "*batch"]:
        """A lower bound of log q(H) = m + log [Σ_k weight_k e^(t_k − m) / Σ_k weight_k].

        t_k = log q_k(H), and m is the largest of them; every operation is rounded down.
        """
        t = torch.stack([component.log_mass(box) for component in self.components], dim=-1)
        m = t.max(-1, keepdim=True).values
        share = sum_down(down(self.weights * exp_down(down(t - m)))) / sum_up(self.weights)
        log_mass = down(m.squeeze(-1) + log_down(down(share).clamp(min=0.0)))
        return torch.where(m.squeeze(-1) > -math.inf, log_mass, -math.inf)

    def log_mass_upper(self, box: Box) -> Float64[Tensor, "*batch"]:
        """An upper bound of log q(H), with every operation rounded up."""
        t = torch.stack([component.log_mass_upper(box) for component in self.components], dim=-1)
        m = t.max(-1, keepdim=True).values
        share = sum_up(up(self.weights * exp_up(up(t - m)))) / sum_down(self.weights)
        log_mass = up(m.squeeze(-1) + log_up(up(share)))
        return torch.where(m.squeeze(-1) > -math.inf, log_mass.clamp(max=0.0), -math.inf)
