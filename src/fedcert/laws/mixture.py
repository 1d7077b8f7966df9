"""Finite mixtures of diagonal Gaussians: a deep ensemble, several modes of a posterior."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.diagonal import DiagonalGaussian
from fedcert.numerics.box import Box
from fedcert.numerics.convert import doubled
from fedcert.numerics.enclosure import Enclosure

MAX_STATED_COMPONENTS = 1_000
"""Maximum number of components of a mixture that a message states."""


@dataclass(frozen=True)
class GaussianMixture:
    """Σ_k π_k N(μ_k, diag σ_k²), with weights that are normalised exactly: π_k = weight_k / Σ_j weight_j.

    Attributes:
        components: the Gaussians.
        weights: positive numbers, one a component.

    Examples:
        >>> one = DiagonalGaussian(torch.zeros(2).double(), torch.ones(2).double())
        >>> other = DiagonalGaussian(torch.ones(2).double(), torch.ones(2).double())
        >>> GaussianMixture((one, other), torch.tensor([1.0, 3.0]).double()).loc.tolist()
        [0.75, 0.75]
    """

    kind: ClassVar[str] = "gaussian-mixture"
    fields: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "weights": ("K",), "loc": ("K", "n_w"), "scale": ("K", "n_w"),
    }  # fmt: skip
    limits: ClassVar[Mapping[str, int]] = {"K": MAX_STATED_COMPONENTS}

    components: tuple[DiagonalGaussian, ...]
    weights: Float64[Tensor, "K"]

    def __post_init__(self) -> None:
        doubled(self, "the weights of a mixture", "weights")
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

    @property
    def shares(self) -> Enclosure:
        """π, the normalised weights."""
        weights = Enclosure.exactly(self.weights)
        return (weights / weights.sum()).clamp(0.0, 1.0)

    def tensors(self) -> Mapping[str, Tensor]:
        """The weights, and μ and σ of each component, if these are exact."""
        if len(self.components) > MAX_STATED_COMPONENTS:
            raise InvalidLaw(
                f"a mixture of {len(self.components)} components: a message states at most"
                f" {MAX_STATED_COMPONENTS}"
            )
        stated = [component.tensors() for component in self.components]
        return {
            "weights": self.weights,
            "loc": torch.stack([own["loc"] for own in stated]),
            "scale": torch.stack([own["scale"] for own in stated]),
        }

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], naming: Callable[[str], AbstractContextManager[None]]
    ) -> "GaussianMixture":
        """The law that a file states; what is wrong is said of its field.

        Args:
            tensors: by field.
            naming: errors inside `naming(field)` name the field.
        """
        loc, scale = tensors["loc"], tensors["scale"]
        with naming("loc"):
            for own in loc:
                DiagonalGaussian(own, torch.ones_like(own))
        with naming("scale"):
            components = tuple(DiagonalGaussian(*own) for own in zip(loc, scale, strict=True))
        with naming("weights"):
            return cls(components, tensors["weights"])

    def to(self, device: torch.device | str) -> "GaussianMixture":
        """The same law on another device."""
        components = tuple(component.to(device) for component in self.components)
        return GaussianMixture(components, self.weights.to(device))

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """Draw a component for each sample, then from it."""
        samples = torch.empty(count, self.dimension, dtype=torch.float64, device=self.weights.device)
        if count == 0:  # which torch.multinomial refuses
            return samples
        share = self.weights.to(generator.device)
        chosen = torch.multinomial(share, count, replacement=True, generator=generator)
        for k, component in enumerate(self.components):
            mine = (chosen == k).to(samples.device)
            samples[mine] = component.sample(int(mine.sum()), generator)
        return samples

    def log_mass(self, box: Box) -> Float64[Tensor, "*batch"]:
        """A lower bound of log q(H)."""
        return self._log_mass([component.log_mass(box) for component in self.components]).lower

    def log_mass_upper(self, box: Box) -> Float64[Tensor, "*batch"]:
        """An upper bound of log q(H)."""
        return self._log_mass([component.log_mass_upper(box) for component in self.components]).upper

    def _log_mass(self, parts: Sequence[Float64[Tensor, "*batch"]]) -> Enclosure:
        """M + log [Σ_k weight_k e^(t_k − m) / Σ_k weight_k] for t_k = log q_k(H), m the largest of them."""
        t = torch.stack(list(parts), dim=-1)
        m = t.amax(-1)
        weights, shifted = Enclosure.exactly(self.weights), Enclosure.between(t, t) - m.unsqueeze(-1)
        share = (weights * shifted.exp()).sum() / weights.sum()
        nothing = Enclosure.between(-math.inf, -math.inf)
        return (m + share.log()).clamp(most=0.0).where(m > -math.inf, nothing)
