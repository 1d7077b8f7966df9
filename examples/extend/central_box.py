"""A family of events of your own: one box around the mean, of a fixed number of deviations."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from fedcert import Certificate, Claim, IntervalVerifier
from fedcert.certificate import Kind
from fedcert.families.problem import Problem
from fedcert.families.registry import register_family
from fedcert.laws import diagonal_components
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import exp_down, sum_down
from fedcert.progress import Tracker, silent
from fedcert.witness import Witness


@dataclass(frozen=True)
class CentralBox:
    """L = Π_i q_i(μ_i ± r σ_i) where interval bounds prove the image of these boxes safe, 0 elsewhere.

    Attributes:
        radius: r, in deviations.
    """

    name: ClassVar[str] = "central-box"

    radius: float = 6.0

    def supports(self, problem: Problem, kind: Kind) -> bool:
        """Transported claims under every rule, for Gaussian clients."""
        return kind == "transported" and problem.gaussian

    def prove(self, problem: Problem, kind: Kind, track: Tracker = silent) -> Certificate:
        """One box a client, its image, and their joint mass."""
        laws = [diagonal_components(law)[0] for law in problem.laws]
        radius = torch.full((1,), self.radius, dtype=torch.float64)
        image = problem.rule.image([law.central_box(radius) for law in laws])
        proven = problem.safe(IntervalVerifier())(Box.stack([image]))[0]
        log_mass = sum_down(torch.stack([law.central_log_mass(radius) for law in laws], dim=-1))
        lower = torch.where(proven, exp_down(log_mass), 0.0)
        claim = Claim(kind, problem.rule.name, self.name)
        return Certificate(claim, lower, witness=Witness({"radius": radius}))


register_family(CentralBox())
