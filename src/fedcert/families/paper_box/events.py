"""The paper's construction: boxes around posterior samples, kept greedily while disjoint."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float32, Float64, Int64
from torch import Tensor

from fedcert.errors import InvalidConfig
from fedcert.families.cells import Cells, retain_disjoint
from fedcert.laws import DiagonalLaw, around
from fedcert.numerics.box import Box
from fedcert.progress import Tracker, silent
from fedcert.verify import Safe, pieces
from fedcert.verify.around import may_be_accepted

LEVELS = 2**15  # number of levels of |s| with which masses are estimated
ROUNDING_ALLOWANCE = 1e-3  # in deviations: far more than the rounding errors of single precision
FARTHEST = 8.0  # the upper end of the levels of |s|; larger |s| count as the last level


@dataclass(frozen=True)
class PaperBox:
    """H = Π_d [w*_d − γ σ_d, w*_d + γ σ_d] around samples w* ~ q, for each γ (eq. local_hyperrectangle).

    Attributes:
        gammas: the expansion factors γ > 0.
        centers: N, the number of sampled centres, each used with every γ.
        limit: the maximum number of cells per property.

    Examples:
        >>> from fedcert import DiagonalGaussian, stream
        >>> law = DiagonalGaussian(torch.zeros(1).double(), torch.ones(1).double())
        >>> len(PaperBox(gammas=(1.0,), centers=5, limit=2).cells(law, None, stream(0))) <= 2
        True
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
        law: DiagonalLaw,
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
        candidates = SampledBoxes.drawn(law, self.centers, self.gammas, generator)
        usable = None if safe is None else candidates.worth_proving(safe)
        if usable is not None and not usable.any():
            order = torch.arange(0, device=usable.device)
        else:
            order = candidates.estimated_log_mass().argsort(descending=True, stable=True)
        return retain_disjoint(candidates, order, law, safe, self.limit, usable, track)


@dataclass(frozen=True)
class SampledBoxes:
    """Boxes c ± γσ for every centre c = μ + σ z and every γ, made on demand.

    Attributes:
        law: the law, which gives the mean μ and the scale σ.
        deviations: z; single precision makes drawing and holding them cheap.
        gammas: the expansion factors γ.
    """

    law: DiagonalLaw
    deviations: Float32[Tensor, "N n_w"]
    gammas: tuple[float, ...]

    @classmethod
    def drawn(
        cls, law: DiagonalLaw, count: int, gammas: tuple[float, ...], generator: torch.Generator
    ) -> "SampledBoxes":
        """Boxes around samples of the law.

        Args:
            law: the law.
            count: how many samples.
            gammas: the expansion factors γ.
            generator: the source of randomness.
        """
        z = torch.randn(count, law.dimension, generator=generator, device=generator.device)
        return cls(law, z.to(law.loc.device), gammas)

    def __len__(self) -> int:
        return len(self.deviations) * len(self.gammas)

    def __getitem__(self, index: Int64[Tensor, " k"]) -> Box:
        gamma = torch.tensor(self.gammas, dtype=torch.float64, device=index.device)
        factor = gamma[index % len(self.gammas)].unsqueeze(-1)
        return around(self.law, self._centres(self.deviations[index // len(self.gammas)]), factor)

    def _centres(self, deviations: Float32[Tensor, "*batch n_w"]) -> Float64[Tensor, "*batch n_w"]:
        return torch.addcmul(self.law.loc, self.law.scale, deviations.double())

    def estimated_log_mass(self) -> Float64[Tensor, "N_gammas"]:
        """An approximation of Σ_d log [1 − Q(γ − s_d) − Q(γ + s_d)], from a histogram of |s_d|.

        It only serves to order the candidates.
        """
        step = FARTHEST / LEVELS
        middle = (torch.arange(LEVELS, dtype=torch.float64, device=self.deviations.device) + 0.5) * step
        factors = [torch.log1p(-(_q(gamma - middle) + _q(gamma + middle))) for gamma in self.gammas]
        table = torch.stack(factors, dim=-1)
        levels = ((z.abs() / step).to(torch.int32).clamp(max=LEVELS - 1) for z in self.deviations)
        return torch.cat([level.bincount(minlength=LEVELS).double() @ table for level in levels])

    def meeting(self, k: int) -> Bool[Tensor, "N_gammas"]:
        """Which centres are nearer than γ + γ′ deviations in every coordinate, allowing for rounding."""
        centre, which = divmod(k, len(self.gammas))
        distance = torch.cdist(self.deviations, self.deviations[centre].unsqueeze(0), p=math.inf)
        gamma = torch.tensor(self.gammas, device=distance.device)
        return (
            distance * (1 + ROUNDING_ALLOWANCE) + ROUNDING_ALLOWANCE < gamma + self.gammas[which]
        ).flatten()

    def worth_proving(self, safe: Safe) -> Bool[Tensor, "P N_gammas"]:
        """Which candidates a monotone verifier may prove for which property.

        All boxes of one γ contain their intersection. If that is not proven, they are not worth trying, since
        a monotone verifier, such as interval bounds, would not prove them. All others are looked at one by
        one, by bounds that are a little better than any proof.
        """
        highest, lowest = (self._centres(end) for end in (self.deviations.amax(0), self.deviations.amin(0)))
        shape = len(safe.properties), len(self.deviations), len(self.gammas)
        worth = torch.ones(shape, dtype=torch.bool, device=highest.device)
        for place, gamma in enumerate(self.gammas):
            lower, upper = highest - gamma * self.law.scale, lowest + gamma * self.law.scale
            if (lower <= upper).all():
                worth[:, :, place] = safe(Box(lower, upper)[None]).mT
        left, places = worth.any(-1).any(-1), worth.any(0).any(0).nonzero().flatten().tolist()
        places.sort(key=self.gammas.__getitem__)
        if places:
            radii = [self.gammas[place] * self.law.scale for place in places]
            asked = safe.properties[left]
            accepted = torch.cat([
                may_be_accepted(safe.network, self._centres(self.deviations[part]), radii, asked)
                for part in pieces(self.deviations)
            ])
            for place, own in zip(places, accepted.unbind(-1), strict=True):
                worth[left, :, place] &= own.mT
        return worth.flatten(1)


def _q(z: Float64[Tensor, "levels"]) -> Float64[Tensor, "levels"]:
    return torch.erfc(z * math.sqrt(0.5)) / 2
