"""A law of your own: one mean for each parameter, one deviation for all of them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedcert import Box, DiagonalGaussian
from fedcert.laws.registry import register_law


@dataclass(frozen=True)
class IsotropicGaussian:
    """N(μ, σ² I): what it answers, it answers as the diagonal Gaussian that it is."""

    kind: ClassVar[str] = "isotropic-gaussian"
    fields: ClassVar[Mapping[str, tuple[str, ...]]] = {"loc": ("n_w",), "deviation": ("one",)}

    loc: Tensor
    deviation: Tensor

    @property
    def components(self) -> tuple[DiagonalGaussian, ...]:
        return (DiagonalGaussian(self.loc, self.deviation.expand_as(self.loc)),)

    @property
    def dimension(self) -> int:
        return len(self.loc)

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        return self.components[0].sample(count, generator)

    def log_mass(self, box: Box) -> Tensor:
        return self.components[0].log_mass(box)

    def log_mass_upper(self, box: Box) -> Tensor:
        return self.components[0].log_mass_upper(box)

    def tensors(self) -> Mapping[str, Tensor]:
        return {"loc": self.loc, "deviation": self.deviation}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], naming: Callable[[str], AbstractContextManager[None]]
    ) -> "IsotropicGaussian":
        with naming("loc"):
            DiagonalGaussian(tensors["loc"], torch.ones_like(tensors["loc"]))
        with naming("deviation"):
            return cls(tensors["loc"], DiagonalGaussian(tensors["deviation"], tensors["deviation"]).scale)

    def to(self, device: torch.device | str) -> "IsotropicGaussian":
        return IsotropicGaussian(self.loc.to(device), self.deviation.to(device))


register_law(IsotropicGaussian)
