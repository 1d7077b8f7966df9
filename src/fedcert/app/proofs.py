"""What the server proves and samples in a run, radius by radius; each part is made once."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import methodcaller

import torch

from fedcert.app.asked import Asked
from fedcert.app.claims import chosen_families, strongest_claim
from fedcert.app.parts import ESTIMATE, CertificateFiles, Timed, TimedRadii
from fedcert.app.spreading import Spread, Task
from fedcert.app.stopwatch import timed
from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.confidence import ConfidenceBound, bound
from fedcert.families.joining import join_certificates
from fedcert.families.protocol import Family, SplittableFamily
from fedcert.federation.radius import CertifiedRadii
from fedcert.model.properties import Properties
from fedcert.wire.certificate_file import certificate_file
from fedcert.wire.confidence_file import confidence_file


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
        spread: the configuration, the problems and the inputs, and where work on these is done.
        files: how certificates are written and read.
    """

    spread: Spread
    files: CertificateFiles

    @property
    def asked(self) -> Asked:
        """The configuration, the problem that each rule poses, and the inputs."""
        return self.spread.asked

    def at(self, epsilon: float) -> Iterator[Proven]:
        """Every claim of the run at one radius, family by family.

        Args:
            epsilon: the radius.
        """
        properties, margin = self.asked.properties(epsilon), self.asked.config.margin
        for family in chosen_families(self.asked.config):
            files = {
                claim: certificate_file(claim, f"eps-{epsilon!r}") for claim in self.asked.claims(family)
            }
            task = Task(
                "certifying inputs",
                files,
                partial(methodcaller, "at", epsilon, family),
                lambda asked: self.files.about(asked.properties(epsilon)),
                join_timed,
                self._undivided(family),
            )
            for claim, (found, seconds) in self.spread(task):
                yield Proven(found, properties, epsilon, margin, files[claim], seconds)

    def at_margins(self, epsilon: float) -> Iterator[Proven]:
        """The strongest claim of the deployed rule at each margin that softmax decisions are made from.

        Args:
            epsilon: the radius.
        """
        for margin in self.asked.config.softmax_margins:
            yield self._at_margin(epsilon, margin)

    def _at_margin(self, epsilon: float, margin: float) -> Proven:
        family, claim = self._strongest()
        file = certificate_file(claim, f"eps-{epsilon!r}-margin-{margin!r}")
        task = Task(
            "certifying inputs",
            {claim: file},
            lambda _: methodcaller("at_margin", epsilon, margin),
            lambda asked: self.files.about(asked.properties(epsilon, margin)),
            join_timed,
            self._undivided(family),
        )
        ((_, (found, seconds)),) = self.spread(task)
        return Proven(found, self.asked.properties(epsilon, margin), epsilon, margin, file, seconds)

    def radii(self, threshold: float) -> ProvenRadii:
        """The certified radius of each input, by the strongest claim of the deployed rule.

        Args:
            threshold: the least probability.
        """
        family, claim = self._strongest()
        file = certificate_file(claim, f"radius-{threshold!r}")
        task = Task(
            "searching radii",
            {claim: file},
            lambda _: methodcaller("radii", threshold),
            lambda asked: self.files.at_radii(asked.properties),
            join_radii,
            self._undivided(family),
        )
        ((_, (found, seconds)),) = self.spread(task)
        return ProvenRadii(found, threshold, file, seconds)

    def drawn(self, epsilon: float) -> Drawn:
        """The confidence bound of the deployed rule at one radius.

        Args:
            epsilon: the radius.
        """
        config, messages = self.asked.config, self.files.messages
        problem = self.asked.deployed.asking(self.asked.properties(epsilon))
        digests = [message.digest for message in messages]

        def draw() -> ConfidenceBound:
            beta = allowed_failure(config.confidence)
            return bound(problem, config.confidence_draws, beta, digests, config.device, self.spread.track)

        file = confidence_file(problem.rule.name, epsilon)
        found, seconds = self.spread.once(file, partial(timed, draw), self.files.of_draws(problem))
        return Drawn(found, epsilon, file, seconds)

    def estimates(self, epsilon: float) -> Iterator[Estimate]:
        """The Monte Carlo diagnostics at one radius.

        Args:
            epsilon: the radius.
        """
        names = self.asked.samplable()
        task = Task(
            "sampling models",
            {(name, rule): f"estimates/{name}-{rule}-eps-{epsilon!r}.json" for name, rule in names},
            partial(methodcaller, "estimates", epsilon),
            lambda _: ESTIMATE,
            join_estimates,
        )
        for _, estimate in self.spread(task):
            yield estimate

    def _strongest(self) -> tuple[Family, Claim]:
        """The strongest claim of the deployed rule, and its family."""
        family, kind = strongest_claim(self.asked.config, self.asked.deployed)
        return family, Claim(kind, self.asked.deployed.rule.name, family.name)

    def _undivided(self, family: Family) -> bool:
        """Whether a family proves all properties together."""
        return not (isinstance(family, SplittableFamily) and family.splits(self.asked.deployed))


def join_timed(parts: Sequence[Timed]) -> Timed:
    """A certificate of all inputs, and the seconds that all its pieces took.

    Args:
        parts: of the pieces, in their order.
    """
    return join_certificates([found for found, _ in parts]), sum(seconds for _, seconds in parts)


def join_radii(parts: Sequence[TimedRadii]) -> TimedRadii:
    """The radii of all inputs.

    Args:
        parts: of the pieces, in their order.
    """
    certificate, seconds = join_timed([(found.certificate, seconds) for found, seconds in parts])
    return CertifiedRadii(torch.cat([found.radius.cpu() for found, _ in parts]), certificate), seconds


def join_estimates(parts: Sequence[Estimate]) -> Estimate:
    """The frequencies of all inputs, from the same models.

    Args:
        parts: of the pieces, in their order.
    """
    return replace(parts[0], successes=torch.cat([part.successes.cpu() for part in parts]))


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
