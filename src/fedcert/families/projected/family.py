"""The family `projected`: events of the projections of the weights that the network sees."""

from dataclasses import dataclass, field
from typing import ClassVar

from fedcert.certificate import Certificate, Kind
from fedcert.errors import ShapeMismatch
from fedcert.families.pooled import is_pooled, prove_pooled, supports_pooled
from fedcert.families.problem import Problem
from fedcert.families.projected.components import MAX_BOUNDS
from fedcert.families.projected.direct import certify_projected_directly, certify_projected_locally
from fedcert.families.projected.tails import Projections
from fedcert.families.projected.transported import certify_projected
from fedcert.progress import Tracker, silent
from fedcert.rules import LinearMap
from fedcert.verify.attack import ProjectedGradient


@dataclass(frozen=True)
class ProjectedFamily:
    """Projected events: lower and upper bounds that hold at the posterior scales that training learns.

    Attributes:
        tuples: the maximum number of bounds for tuples of mixture components.
        projections: how the clients' projections are cut into cells for transported claims; None for boxes of
            their parameters, which lose nothing that can be seen.
        attack: finds the inputs at which upper bounds are computed.
    """

    name: ClassVar[str] = "projected"

    tuples: int = MAX_BOUNDS
    projections: Projections | None = None
    attack: ProjectedGradient = field(default_factory=ProjectedGradient)

    def supports(self, problem: Problem, kind: Kind) -> bool:
        """All local claims, transported ones under linear rules, direct ones for a law in closed form."""
        if is_pooled(problem, kind):
            return supports_pooled(self, problem, kind)
        if kind == "transported":
            return isinstance(problem.rule, LinearMap)
        return kind == "local" or problem.has_deployed_law

    def splits(self, problem: Problem) -> bool:
        """Always: every choice belongs to one property."""
        return True

    def prove(self, problem: Problem, kind: Kind, track: Tracker = silent) -> Certificate:
        """The certificate of one kind of claim.

        Args:
            problem: the clients, the rule and the properties.
            kind: the kind of claim.
            track: shows progress.
        """
        if is_pooled(problem, kind):
            return prove_pooled(self, problem, kind, track)
        if not self.supports(problem, kind):
            raise ShapeMismatch(f"projected events have no {kind} claim under the rule {problem.rule.name}")
        if kind == "local":
            return certify_projected_locally(problem, track)
        if kind == "direct":
            return certify_projected_directly(problem, self.tuples, self.attack, track)
        return certify_projected(problem, self.projections, self.tuples, track)
