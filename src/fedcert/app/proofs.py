"""What the server proves and samples in a run, radius by radius; each part is made once."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from jaxtyping import Float64
from torch import Tensor

from fedcert.app.claims import Deployments, certify, sample, strongest_claim
from fedcert.app.config import RunConfig
from fedcert.app.journal import Once
from fedcert.app.parts import ESTIMATE, CertificateFiles
from fedcert.app.stopwatch import timed
from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.confidence import ConfidenceBound, bound
from fedcert.federation.radius import LARGEST_FACTOR, LARGEST_RADIUS, CertifiedRadii, certified_radii
from fedcert.model.properties import Properties
from fedcert.progress import Tracker
from fedcert.wire.certificate_file import certificate_file
from fedcert.wire.confidence_file import confidence_file

Ask = Callable[..., Properties]
"""The properties at a radius, or at one radius for each input."""


@dataclass(frozen=True)
class Proven:
    """A certificate of a run.

    Attributes:
        certificate: the bounds.
        properties: what they speak about.
        epsilon: the radius of all balls.
        margin: by which labels must win.
        file: where the certificate is in the folder of the run.
        seconds: that the proof took.
    """

    certificate: Certificate
    properties: Properties
    epsilon: float
    margin: float
    file: str
    seconds: float


@dataclass(frozen=True)
class ProvenRadii:
    """Radii up to which inputs are certified, in a run.

    Attributes:
        found: the radii and their certificate.
        threshold: the least probability at these radii.
        file: where the certificate is in the folder of the run.
        seconds: that the search took.
    """

    found: CertifiedRadii
    threshold: float
    file: str
    seconds: float


@dataclass(frozen=True)
class Drawn:
    """A confidence bound of a run.

    Attributes:
        bound: the limits.
        epsilon: the radius of all balls.
        file: where it is in the folder of the run.
        seconds: that drawing and judging took.
    """

    bound: ConfidenceBound
    epsilon: float
    file: str
    seconds: float


@dataclass(frozen=True)
class Proofs:
    """The server's work on one federation.

    Attributes:
        config: the configuration of the run.
        deployments: the problem that each rule poses, at any radius.
        ask: the properties at a radius.
        files: how certificates are written and read.
        once: makes each part, or reads it back if it was made before.
        track: shows progress.
    """

    config: RunConfig
    deployments: Deployments
    ask: Ask
    files: CertificateFiles
    once: Once
    track: Tracker

    def at(self, epsilon: float) -> Iterator[Proven]:
        """Every claim of the run at one radius.

        Args:
            epsilon: the radius.
        """
        properties = self.ask(epsilon)
        for claim, prove in certify(self.config, self._asking(properties), self.track):
            if claim.kind in self.config.claims:
                file = certificate_file(claim, f"eps-{epsilon!r}")
                found, seconds = self.once(file, partial(timed, prove), self.files.about(properties))
                yield Proven(found, properties, epsilon, self.config.margin, file, seconds)

    def at_margins(self, epsilon: float) -> Iterator[Proven]:
        """The strongest claim of the deployed rule at each margin that softmax decisions are made from.

        Args:
            epsilon: the radius.
        """
        for margin in self.config.softmax_margins:
            family, kind = strongest_claim(self.config, self.deployments[self.config.rule])
            properties = self.ask(epsilon, margin=margin)
            problem = self.deployments[self.config.rule].asking(properties)
            claim = Claim(kind, problem.rule.name, family.name)
            file = certificate_file(claim, f"eps-{epsilon!r}-margin-{margin!r}")
            prove = partial(family.prove, problem, kind, self.track)
            found, seconds = self.once(file, partial(timed, prove), self.files.about(properties))
            yield Proven(found, properties, epsilon, margin, file, seconds)

    def radii(self, threshold: float) -> ProvenRadii:
        """The certified radius of each input, by the strongest claim of the deployed rule.

        Args:
            threshold: the least probability.
        """
        family, kind = strongest_claim(self.config, self.deployments[self.config.rule])
        problem = self.deployments[self.config.rule]

        def prove(radius: Float64[Tensor, "P"]) -> Certificate:
            return family.prove(problem.asking(self.ask(radius)), kind)

        def search() -> CertifiedRadii:
            count, device = len(problem.properties), str(problem.properties.d.device)
            asked = problem.properties.subject
            weighted = asked is not None and asked.weights is not None
            largest = LARGEST_FACTOR if weighted else LARGEST_RADIUS
            return certified_radii(prove, count, threshold, device, self.track, largest)

        claim = Claim(kind, problem.rule.name, family.name)
        file = certificate_file(claim, f"radius-{threshold!r}")
        found, seconds = self.once(file, partial(timed, search), self.files.at_radii(self.ask))
        return ProvenRadii(found, threshold, file, seconds)

    def drawn(self, epsilon: float) -> Drawn:
        """The confidence bound of the deployed rule at one radius.

        Args:
            epsilon: the radius.
        """
        config, messages = self.config, self.files.messages
        problem = self.deployments[config.rule].asking(self.ask(epsilon))
        digests = [message.digest for message in messages]

        def draw() -> ConfidenceBound:
            beta = allowed_failure(config.confidence)
            return bound(problem, config.confidence_draws, beta, digests, config.device, self.track)

        file = confidence_file(problem.rule.name, epsilon)
        found, seconds = self.once(file, partial(timed, draw), self.files.of_draws(problem))
        return Drawn(found, epsilon, file, seconds)

    def estimates(self, epsilon: float) -> Iterator[Estimate]:
        """The Monte Carlo diagnostics at one radius.

        Args:
            epsilon: the radius.
        """
        for name, rule, draw in sample(self.config, self._asking(self.ask(epsilon)), self.track):
            if name in self.config.estimates:
                yield self.once(f"estimates/{name}-{rule}-eps-{epsilon!r}.json", draw, ESTIMATE)

    def _asking(self, properties: Properties) -> Deployments:
        return {name: problem.asking(properties) for name, problem in self.deployments.items()}


def allowed_failure(confidence: float) -> float:
    """The largest β with 1 − β ≥ the confidence, which is the decimal number that the float is printed as.

    Args:
        confidence: strictly between 0 and 1.

    >>> allowed_failure(0.75)
    0.25
    """
    exact = 1 - Fraction(repr(confidence))
    beta = float(exact)
    return math.nextafter(beta, 0.0) if Fraction(beta) > exact else beta
