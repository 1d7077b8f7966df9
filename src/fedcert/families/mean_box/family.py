"""The family `box`: mean-centred boxes, as large as the verifier accepts."""

from dataclasses import dataclass, field
from typing import ClassVar

from fedcert.certificate import Certificate, Kind
from fedcert.errors import InvalidLaw
from fedcert.families.mean_box.certify import certify_boxes, certify_boxes_locally
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.measures import identity
from fedcert.families.pooled import is_pooled, prove_pooled, supports_pooled
from fedcert.families.problem import Problem
from fedcert.laws import BoxMeasurable
from fedcert.progress import Tracker, silent
from fedcert.verify import AnyOf, Verifier
from fedcert.verify.interval import MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier


@dataclass(frozen=True)
class MeanBoxFamily:
    """Boxes around the mean that interval or backward linear bounds prove safe.

    Attributes:
        boxes: the widest radius and the bisection.
    """

    name: ClassVar[str] = MeanBox.name
    verifier: ClassVar[Verifier] = AnyOf((MergedIntervalVerifier(), LinearVerifier()))

    boxes: MeanBox = field(default_factory=MeanBox)

    def supports(self, problem: Problem, kind: Kind) -> bool:
        """Independent parameters, any rule; direct claims need a law in closed form, for Gaussian clients."""
        if is_pooled(problem, kind):
            return supports_pooled(self, problem, kind)
        return problem.diagonal and (kind != "direct" or (problem.has_deployed_law and problem.gaussian))

    def splits(self, problem: Problem) -> bool:
        """For Gaussian clients; properties under mixtures share the cells of their witness."""
        return problem.gaussian

    def prove(self, problem: Problem, kind: Kind, track: Tracker = silent) -> Certificate:
        """The certificate of one kind of claim.

        Args:
            problem: the clients, the rule and the properties.
            kind: the kind of claim.
            track: shows progress.
        """
        if is_pooled(problem, kind):
            return prove_pooled(self, problem, kind, track)
        safe, rule = problem.safe(self.verifier), problem.rule
        if kind == "direct":
            alone = identity(rule.name, problem.deployed)
            return certify_boxes([problem.deployed_diagonal], alone, safe, self.boxes, kind, track=track)
        laws = [_measurable(law) for law in problem.laws]
        if kind == "local":
            return certify_boxes_locally(laws, rule.name, safe, self.boxes, track)
        deployed = problem.deployed_diagonal if problem.has_deployed_law and problem.gaussian else None
        return certify_boxes(laws, rule, safe, self.boxes, deployed=deployed, track=track)


def _measurable(law: object) -> BoxMeasurable:
    if not isinstance(law, BoxMeasurable):
        raise InvalidLaw(f"a {type(law).__name__} does not know the mass of a box")
    return law
