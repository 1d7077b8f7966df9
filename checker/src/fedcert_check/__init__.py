"""The checker: proves a saved certificate again, from the messages and the witness, in ball arithmetic.

It shares nothing with the code that made the certificate but the digest, the file's envelope and the errors.
Each family of events has a module with a function that returns what it could prove for each property, and one
in `cost/` that says beforehand what this takes; here the result is compared with what the certificate claims.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fedcert_check.balls import mean_down, mean_up
from fedcert_check.cost import DEFAULT, Estimate, Limits, affordable
from fedcert_check.document import Document, Proved
from fedcert_check.errors import FedcertError, InvalidCertificate, TooCostly
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


Prove = Callable[[Document, int, Tracker], list[Proved]]
FAMILIES = {"box": "boxes", "projected": "projected"}
"""Which module has the function `prove` of a family of events, and which in `cost/` its function `estimate`.

Any other family is one of cells.
"""


def certificates(path: Path) -> list[Path]:
    """The certificate files of a run's folder, or the one file that is named."""
    if not path.is_dir():
        return [path]
    found = sorted((path / "certificates").glob("*.safetensors"))
    if not found:
        raise InvalidCertificate(
            f"{path}: a folder without certificates: name a file, or the folder of a run"
        )
    return found


def check(
    path: Path,
    messages: Path | None = None,
    jobs: int = 1,
    track: Tracker = silent,
    limits: Limits = DEFAULT,
) -> Report:
    """Prove the certificate again, property by property.

    Args:
        path: of the certificate.
        messages: the folder of the clients' messages; beside the certificate's own folder where None.
        jobs: how many processes work; fewer where memory allows no more.
        track: shows progress.
        limits: the most that the proof may cost.
    """
    try:
        document = read(path, messages or path.absolute().parent.parent / "messages", limits.memory)
    except MemoryError as error:
        raise TooCostly(f"{path}: reading it takes more memory than there is") from error
    family = FAMILIES.get(document.events, "cells")
    estimate: Estimate = import_module(f"fedcert_check.cost.{family}").estimate
    prove: Prove = import_module(f"fedcert_check.{family}").prove
    try:
        able = affordable(document, estimate, jobs, limits)
        return Report(document, tuple(prove(document, able, track)))
    except (InvalidCertificate, TooCostly) as error:
        raise type(error)(f"{path}: {error}") from error
    except MemoryError as error:
        raise TooCostly(f"{path}: the proof takes more memory than there is") from error


def check_each(
    paths: Sequence[Path], messages: Path | None, jobs: int, track: Tracker, limits: Limits = DEFAULT
) -> list[Report | Refused]:
    """Check some certificates; one that is unreadable or costs too much does not hide the others.

    Args:
        paths: of the certificates.
        messages: as for `check`.
        jobs: as for `check`.
        track: shows progress.
        limits: of each proof.
    """
    return [_attempt(path, messages, jobs, track, limits) for path in paths]


def _attempt(
    path: Path, messages: Path | None, jobs: int, track: Tracker, limits: Limits
) -> Report | Refused:
    try:
        return check(path, messages, jobs, track, limits)
    except FedcertError as error:
        return Refused(path, str(error))
