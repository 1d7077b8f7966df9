"""The paper's construction: boxes around posterior samples, kept greedily while disjoint."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from fedcert.box import Box
from fedcert.errors import InvalidConfig
from fedcert.events.cells import Cells, retain_disjoint
from fedcert.laws import DiagonalGaussian
from fedcert.progress import Tracker, silent
from fedcert.verifiers import Safe

TRIED = 16  # of the heaviest candidates; if all fail, narrow boxes are tried before further wide ones


@dataclass(frozen=True)
class PaperBox:
    """H = Π_d [w*_d − γ σ_d, w*_d + γ σ_d] around samples w* ~ q, for each γ (eq. local_hyperrectangle).

    Attributes:
        gammas: the expansion factors γ > 0.
        centers: N, the number of sampled centres, each used with every γ.
        limit: the most cells kept for a property.
    """

    name: ClassVar[str] = "paper-box"

    gammas: tuple[float, ...] = (3.0, 4.0, 5.0, 6.0, 7.0)
    centers: int = 200
    limit: int = 8

    def __post_init__(self) -> None:
        if not self.gammas or not all(0 < g < math.inf for g in self.gammas):
            raise InvalidConfig(f"every γ must be a finite number > 0, not {self.gammas}")
        if self.centers < 1 or self.limit < 1:
            raise InvalidConfig("at least one centre and one cell are needed")

    def cells(
        self,
        law: DiagonalGaussian,
        safe: Safe | None,
        generator: torch.Generator,
        track: Tracker = silent,
    ) -> Cells:
        """Sample candidates and retain the heaviest disjoint ones.

        Args:
            law: q, the posterior to sample from and to measure with.
            safe: screens the candidates for each property; None does not screen.
            generator: the source of randomness.
            track: shows progress.
        """
        candidates = SampledBoxes(law, law.sample(self.centers, generator), self.gammas)
        order = candidates.estimated_log_mass().argsort(descending=True, stable=True)
        if safe is not None and not safe(candidates[order[:TRIED]]).any():
            order = order[self._has_a_safe_core(candidates, safe)[order // len(self.gammas)]]
        return retain_disjoint(candidates, order, law, safe, self.limit, track)

    def _has_a_safe_core(self, candidates: "SampledBoxes", safe: Safe) -> Bool[Tensor, "N"]:
        """Which centres have a narrowest box that is proven for some property.

        The wider boxes around a centre contain the narrowest. Where that is not proven, they are not worth
        a trial, nor would a verifier that is monotone, like interval bounds, prove them.
        """
        narrowest = self.gammas.index(min(self.gammas))
        index = torch.arange(self.centers, device=candidates.centers.device) * len(self.gammas) + narrowest
        return safe(candidates[index]).any(-1)


@dataclass(frozen=True)
class SampledBoxes:
    """Boxes c ± γσ for every centre c and every γ, made when asked for.

    Attributes:
        law: gives the scale σ.
        centers: c.
        gammas: γ.
    """

    law: DiagonalGaussian
    centers: Float64[Tensor, "N n_w"]
    gammas: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.centers) * len(self.gammas)

    def __getitem__(self, index: Int64[Tensor, " k"]) -> Box:
        gamma = torch.tensor(self.gammas, dtype=torch.float64, device=index.device)
        factor = gamma[index % len(self.gammas)].unsqueeze(-1)
        return Box.around(self.centers[index // len(self.gammas)], factor * self.law.scale)

    def estimated_log_mass(self) -> Float[Tensor, "N_gammas"]:
        """Σ_d log [1 − Q(γ − s_d) − Q(γ + s_d)], s the standardised centre, in single precision.

        It serves to order the candidates and nothing else.
        """
        s = ((self.centers - self.law.loc) / self.law.scale).float()
        columns = [
            torch.log1p(-(_q(gamma - s) + _q(gamma + s)).clamp(max=1.0)).sum(-1) for gamma in self.gammas
        ]
        return torch.stack(columns, dim=-1).flatten()


def _q(z: Float[Tensor, "N n_w"]) -> Float[Tensor, "N n_w"]:
    return torch.erfc(z * math.sqrt(0.5)) / 2
