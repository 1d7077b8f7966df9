"""Checks certificates: compares what the checker proves with what is claimed, property by property."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from fedcert_check.balls import mean_down, mean_up
from fedcert_check.cost import DEFAULT_LIMITS, ProofLimits, affordable
from fedcert_check.document import Document, Proved
from fedcert_check.errors import FedcertError, InvalidCertificate, TooCostly
from fedcert_check.families import family_of
from fedcert_check.files import read
from fedcert_check.progress import Tracker, silent
from fedcert_check.sampling import Sample


class Verdict(StrEnum):
    """What a check says of a certificate. A sample never proves a claim: at best it does not refute it."""

    PROVED = "proved"
    NOT_REFUTED = "not refuted"
    NOT_PROVED = "NOT PROVED"


@dataclass(frozen=True)
class Report:
    """What a certificate claims and what was proven, property by property.

    Attributes:
        document: the certificate; `document.asked` says which properties were looked at.
        proved: what holds of each of these.
        path: of the file; None where there is none.
    """

    document: Document
    proved: tuple[Proved, ...]
    path: Path | None = None

    @property
    def by_property(self) -> dict[int, Proved]:
        """What holds, by the index of the property."""
        return dict(zip(self.document.asked, self.proved, strict=True))

    @property
    def failures(self) -> tuple[int, ...]:
        """The properties of which less was proven than is claimed."""
        return tuple(p for p, own in self.by_property.items() if not self.document.claim_follows(p, own))

    @property
    def claimed_mean(self) -> tuple[float, float | None]:
        """The means over all properties of the claimed bounds, rounded to what they prove."""
        above = self.document.upper
        return mean_down(self.document.lower.tolist()), None if above is None else mean_up(above.tolist())

    @property
    def claimed_of_asked(self) -> tuple[float, float | None]:
        """The means of the claimed bounds over the properties that were looked at."""
        asked, above = list(self.document.asked), self.document.upper
        below = mean_down(self.document.lower[asked].tolist())
        return below, None if above is None else mean_up(above[asked].tolist())

    @property
    def proved_mean(self) -> tuple[float, float | None]:
        """The means of the bounds that were proven, over the properties that were looked at."""
        above = None if self.document.upper is None else mean_up([own.upper for own in self.proved])
        return mean_down([own.lower for own in self.proved]), above

    @property
    def sampled(self) -> bool:
        """Whether only some properties were looked at."""
        return len(self.proved) < len(self.document.properties)

    @property
    def outcome(self) -> Verdict:
        """The verdict; without failures a sample is not refuted, and all properties are proved."""
        if self.failures:
            return Verdict.NOT_PROVED
        return Verdict.NOT_REFUTED if self.sampled else Verdict.PROVED

    @property
    def verdict(self) -> bool:
        """Whether every claimed bound was proven."""
        return self.outcome is Verdict.PROVED

    def without_proof(self) -> "Report":
        """The same report without what only the proof needed: the witness and the clients' cells."""
        light = tuple(
            replace(client, lower=client.lower[:0].copy(), upper=client.upper[:0].copy())
            for client in self.document.clients
        )
        return replace(self, document=replace(self.document, clients=light, witness={}))


@dataclass(frozen=True)
class Refused:
    """A certificate without a verdict.

    Attributes:
        path: of the file.
        reason: why it was not checked.
        explained_in: the page that explains the reason, if there is one.
    """

    path: Path
    reason: str
    explained_in: str | None = None


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
    path: Path | str,
    messages: Path | None = None,
    jobs: int = 1,
    track: Tracker = silent,
    limits: ProofLimits = DEFAULT_LIMITS,
    sample: Sample | None = None,
) -> Report:
    """Prove the certificate again, property by property.

    Args:
        path: of the certificate.
        messages: the folder of the clients' messages; the folder beside the certificate's own where None.
        jobs: maximum number of processes; a script that asks for more than one must do so below
            `if __name__ == "__main__":`.
        track: shows progress.
        limits: the most that the proof may take.
        sample: which properties to look at; all of them where None.
    """
    path = Path(path)
    if path.is_dir():
        raise InvalidCertificate(f"{path}: is a folder: check one certificate, or the folder by the command")
    document = read_document(path, messages, limits)
    if sample is not None:
        document = replace(document, only=sample.choose(len(document.properties), path.name))
    try:
        family = family_of(document)
        processes = affordable(document, family.estimate, jobs, limits)
        return Report(document, tuple(family.prove(document, processes, track)), path)
    except (InvalidCertificate, TooCostly) as error:
        raise type(error)(f"{path}: {error}") from error
    except MemoryError as error:
        raise TooCostly(f"{path}: the proof takes more memory than there is") from error


def read_document(path: Path, messages: Path | None, limits: ProofLimits) -> Document:
    """The certificate and the messages that it names.

    Args:
        path: of the certificate.
        messages: as for `check`.
        limits: the most memory that reading may take.
    """
    try:
        return read(path, messages or path.absolute().parent.parent / "messages", limits.memory)
    except MemoryError as error:
        raise TooCostly(f"{path}: reading it takes more memory than there is") from error


def check_each(
    paths: Sequence[Path],
    messages: Path | None,
    jobs: int,
    track: Tracker,
    limits: ProofLimits = DEFAULT_LIMITS,
    sample: Sample | None = None,
) -> list[Report | Refused]:
    """Check several certificates; one that is unreadable or costs too much does not hide the others.

    Args:
        paths: of the certificates.
        messages: as for `check`.
        jobs: as for `check`.
        track: shows progress.
        limits: of each proof.
        sample: which properties of each to look at; all of them where None.
    """
    return [attempt(path, messages, jobs, track, limits, sample) for path in paths]


def attempt(
    path: Path,
    messages: Path | None,
    jobs: int,
    track: Tracker,
    limits: ProofLimits,
    sample: Sample | None = None,
) -> Report | Refused:
    """Check one certificate; the reason if there is no verdict.

    Args:
        path: of the certificate.
        messages: as for `check`.
        jobs: as for `check`.
        track: shows progress.
        limits: of the proof.
        sample: as for `check`.
    """
    try:
        return check(path, messages, jobs, track, limits, sample)
    except FedcertError as error:
        return Refused(path, str(error), error.explained_in)
