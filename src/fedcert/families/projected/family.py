"""The family `projected`: events of what the network sees of its weights."""

from dataclasses import dataclass, field
from typing import ClassVar

from fedcert.certificate import Certificate, Kind
from fedcert.errors import ShapeMismatch
from fedcert.families.problem import Problem
from fedcert.families.projected.components import MAX_BOUNDS
from fedcert.families.projected.direct import certify_projected_directly, certify_projected_locally
from fedcert.families.projected.tails import Cells, Projections
from fedcert.families.projected.transported import certify_projected
from fedcert.progress import Tracker, silent
from fedcert.rules import GaussianRule, LinearMap
from fedcert.verify.attack import ProjectedGradient


@dataclass(frozen=True)
class ProjectedFamily:
    """Lower and upper bounds at the posterior scales that training learns.

    Attributes:
        tuples: the maximum number of bounds for tuples of mixture components.
        projections: how the clients' projections are cut into cells for transported claims.
        attack: finds the inputs that upper bounds speak of.
    """

    name: ClassVar[str] = "projected"

    tuples: int = MAX_BOUNDS
    projections: Projections = field(default_factory=Cells)
    attack: ProjectedGradient = field(default_factory=ProjectedGradient)

    def supports(self, problem: Problem, kind: Kind) -> bool:
        """Transported claims under linear rules, direct ones where a law is deployed in closed form."""
        if kind == "transported":
            return isinstance(problem.rule, LinearMap)
        return kind == "local" or problem.has_deployed_law

    def prove(self, problem: Problem, kind: Kind, track: Tracker = silent) -> Certificate:
        """The certificate of one kind of claim.

        Args:
            problem: the clients, the rule and the properties.
            kind: of the claim.
            track: shows progress.
        """
        laws, rule, network, properties = problem.laws, problem.rule, problem.network, problem.properties
        if kind == "local":
            return certify_projected_locally(laws, rule.name, network, properties, track)
        if kind == "direct" and isinstance(rule, GaussianRule):
            return certify_projected_directly(
                laws, rule, network, properties, self.tuples, self.attack, track
            )
        if isinstance(rule, LinearMap):
            return certify_projected(laws, rule, network, properties, self.projections, self.tuples, track)
        raise ShapeMismatch(f"projected events have no {kind} claim under the rule {rule.name}")
