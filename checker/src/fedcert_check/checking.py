"""Checks certificates: compares what the checker proves with what is claimed, property by property."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fedcert_check.balls import mean_down, mean_up
from fedcert_check.cost import DEFAULT_LIMITS, ProofLimits, affordable
from fedcert_check.document import Document, Proved
from fedcert_check.errors import FedcertError, InvalidCertificate, TooCostly
from fedcert_check.families import family_of
from fedcert_check.files import read
from fedcert_check.progress import Tracker, silent


@dataclass(frozen=True)
class Report:
    """What a certificate claims and what was proven, property by property.

    Attributes:
        document: the certificate.
        proved: what holds.
    """

    document: Document
    proved: tuple[Proved, ...]

    @property
    def failures(self) -> tuple[int, ...]:
        """The properties of which less was proven than is claimed."""
        each = zip(range(len(self.document.lower)), self.proved, strict=True)
        return tuple(p for p, own in each if not self.document.claim_follows(p, own))

    @property
    def claimed_mean(self) -> tuple[float, float | None]:
        """The means over the properties of the claimed bounds, rounded to what they prove."""
        above = self.document.upper
        return mean_down(self.document.lower.tolist()), None if above is None else mean_up(above.tolist())

    @property
    def proved_mean(self) -> tuple[float, float | None]:
        """The means over the properties of the bounds that were proven."""
        above = None if self.document.upper is None else mean_up([own.upper for own in self.proved])
        return mean_down([own.lower for own in self.proved]), above

    @property
    def verdict(self) -> bool:
        """Whether every claimed bound was proven."""
        return not self.failures


@dataclass(frozen=True)
class Refused:
    """A certificate without a verdict.

    Attributes:
        path: of the file.
        reason: why it was not checked.
    """

    path: Path
    reason: str


def certificates(path: Path) -> list[Path]:
    """The certificate files of a run's folder, or the one file that is named."""
    if not path.is_dir():
        return [path]
    found = sorted((path / "certificates").glob("*.safetensors"))
    if not found:
        raise InvalidCertificate(
            f"{path}: this folder has no certificates: name a certificate file or the folder of a run"
        )
    return found


def check(
    path: Path,
    messages: Path | None = None,
    jobs: int = 1,
    track: Tracker = silent,
    limits: ProofLimits = DEFAULT_LIMITS,
) -> Report:
    """Prove the certificate again, property by property.

    Args:
        path: of the certificate.
        messages: the folder of the clients' messages; the folder beside the certificate's own where None.
        jobs: maximum number of processes; a script that asks for more than one must do so below
            `if __name__ == "__main__":`.
        track: shows progress.
        limits: the most that the proof may take.
    """
    try:
        document = read(path, messages or path.absolute().parent.parent / "messages", limits.memory)
    except MemoryError as error:
        raise TooCostly(f"{path}: reading it takes more memory than there is") from error
    try:
        family = family_of(document)
        processes = affordable(document, family.estimate, jobs, limits)
        return Report(document, tuple(family.prove(document, processes, track)))
    except (InvalidCertificate, TooCostly) as error:
        raise type(error)(f"{path}: {error}") from error
    except MemoryError as error:
        raise TooCostly(f"{path}: the proof takes more memory than there is") from error


def check_each(
    paths: Sequence[Path],
    messages: Path | None,
    jobs: int,
    track: Tracker,
    limits: ProofLimits = DEFAULT_LIMITS,
) -> list[Report | Refused]:
    """Check several certificates; one that is unreadable or costs too much does not hide the others.

    Args:
        paths: of the certificates.
        messages: as for `check`.
        jobs: as for `check`.
        track: shows progress.
        limits: of each proof.
    """
    return [_attempt(path, messages, jobs, track, limits) for path in paths]


def _attempt(
    path: Path, messages: Path | None, jobs: int, track: Tracker, limits: ProofLimits
) -> Report | Refused:
    try:
        return check(path, messages, jobs, track, limits)
    except FedcertError as error:
        return Refused(path, str(error))
