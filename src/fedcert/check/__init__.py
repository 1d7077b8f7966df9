"""The checker: proves a saved certificate again, from the messages and the witness, in ball arithmetic.

It shares nothing with the code that made the certificate but the digest, the file's envelope and the errors.
Each family of events has a module with a function that returns what it could prove for each property; here
the result is compared with what the certificate claims.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fedcert.check.balls import mean_down, mean_up
from fedcert.check.document import Document, Proved
from fedcert.check.files import read
from fedcert.errors import InvalidCertificate
from fedcert.progress import Tracker, silent


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


Family = Callable[[Document, int, Tracker], list[Proved]]
FAMILIES = {"box": "fedcert.check.boxes", "projected": "fedcert.check.projected"}
"""Where the function `prove` of a family of events is; any other family is one of cells."""


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


def check(path: Path, messages: Path | None = None, jobs: int = 1, track: Tracker = silent) -> Report:
    """Prove the certificate again, property by property.

    Args:
        path: of the certificate.
        messages: the folder of the clients' messages; beside the certificate's own folder where None.
        jobs: how many processes work.
        track: shows progress.
    """
    document = read(path, messages or path.absolute().parent.parent / "messages")
    prove: Family = import_module(FAMILIES.get(document.events, "fedcert.check.cells")).prove
    return Report(document, tuple(prove(document, jobs, track)))
