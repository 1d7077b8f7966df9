"""What a run asks of some of its inputs, and the work that answers it; it can be sent to another process."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxtyping import Float64
from torch import Tensor

from fedcert.app.claims import Deployments, certify, sample, strongest_claim
from fedcert.app.config import RunConfig
from fedcert.app.given import GivenInputs
from fedcert.app.inputs import Inputs
from fedcert.app.parts import Timed, TimedRadii
from fedcert.app.stopwatch import timed
from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.families.problem import Problem
from fedcert.families.protocol import Family
from fedcert.federation.radius import LARGEST_FACTOR, LARGEST_RADIUS, CertifiedRadii, certified_radii
from fedcert.model.properties import Properties
from fedcert.numerics.convert import Numbers
from fedcert.progress import Tracker, silent


@dataclass(frozen=True)
class Asked:
    """The clients, the rules and some inputs.

    Attributes:
        config: the configuration of the run.
        deployments: the problem that each rule poses, at any radius.
        inputs: the inputs of the properties.
        track: shows progress.
    """

    config: RunConfig
    deployments: Deployments
    inputs: Inputs | GivenInputs
    track: Tracker = silent

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, part: slice) -> "Asked":
        return replace(self, inputs=self.inputs[part])

    @property
    def deployed(self) -> Problem:
        """The problem under the deployed rule."""
        return self.deployments[self.config.rule]

    def properties(self, epsilon: Numbers, margin: float | None = None) -> Properties:
        """The properties at a radius, or at one radius for each input.

        Args:
            epsilon: the radius or radii.
            margin: by which labels must win; that of the run where None.
        """
        wins = self.config.margin if margin is None else margin
        return self.inputs.properties_within(
            epsilon, wins, self.deployed.network.outputs, device=self.config.device
        )

    def claims(self, family: Family) -> list[Claim]:
        """The claims of the run that a family makes, the same at every radius.

        Args:
            family: of events.
        """
        return [claim for claim, _ in certify(self.config, self.deployments, family)]

    def at(self, epsilon: float, family: Family, wanted: Sequence[Claim]) -> list[Timed]:
        """The certificates of some claims of a family at one radius.

        Args:
            epsilon: the radius.
            family: of events.
            wanted: the claims.
        """
        asking = self._asking(self.properties(epsilon))
        provable = certify(self.config, asking, family, self.track)
        return [timed(prove) for claim, prove in provable if claim in wanted]

    def at_margin(self, epsilon: float, margin: float) -> list[Timed]:
        """The certificate of the strongest claim of the deployed rule, for a margin of its own.

        Args:
            epsilon: the radius.
            margin: by which labels must win.
        """
        family, kind = strongest_claim(self.config, self.deployed)
        problem = self.deployed.asking(self.properties(epsilon, margin))
        return [timed(lambda: family.prove(problem, kind, self.track))]

    def radii(self, threshold: float) -> list[TimedRadii]:
        """The certified radius of each input, by the strongest claim of the deployed rule.

        Args:
            threshold: the least probability.
        """
        family, kind = strongest_claim(self.config, self.deployed)
        asked = self.properties(0.0).subject

        def prove(radius: Float64[Tensor, "P"]) -> Certificate:
            return family.prove(self.deployed.asking(self.properties(radius)), kind)

        def search() -> CertifiedRadii:
            weighted = asked is not None and asked.weights is not None
            largest = LARGEST_FACTOR if weighted else LARGEST_RADIUS
            return certified_radii(prove, len(self), threshold, self.config.device, self.track, largest)

        return [timed(search)]

    def samplable(self) -> list[tuple[str, str]]:
        """Name and rule of each Monte Carlo diagnostic of the run."""
        known = sample(self.config, self.deployments)
        return [(name, rule) for name, rule, _ in known if name in self.config.estimates]

    def estimates(self, epsilon: float, wanted: Sequence[tuple[str, str]]) -> list[Estimate]:
        """Some Monte Carlo diagnostics at one radius.

        Args:
            epsilon: the radius.
            wanted: name and rule of each.
        """
        drawn = sample(self.config, self._asking(self.properties(epsilon)), self.track)
        return [draw() for name, rule, draw in drawn if (name, rule) in wanted]

    def _asking(self, properties: Properties) -> Deployments:
        return {name: problem.asking(properties) for name, problem in self.deployments.items()}
