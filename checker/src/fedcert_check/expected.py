"""How long a check may take, said before it begins."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fedcert_check.checking import read_document
from fedcert_check.confidence import cost as confidence_cost
from fedcert_check.confidence.files import read as read_confidence
from fedcert_check.cost import ProofLimits, affordable
from fedcert_check.errors import FedcertError
from fedcert_check.families import family_of
from fedcert_check.progress import duration
from fedcert_check.run_folder.confident import is_confidence
from fedcert_check.sampling import Sample


class Expected(NamedTuple):
    """What a check is about to do.

    Attributes:
        certificates: number of those that will be proved.
        seconds: at most, on the processes that there are.
        confidence: number of confidence bounds that will be drawn again.
    """

    certificates: int = 0
    seconds: float = 0.0
    confidence: int = 0

    @property
    def line(self) -> str:
        """What to say of it; the estimate is of the worst case, and most proofs take a small part of it."""
        parts = [f"proving {_several(self.certificates, 'certificate')}"] if self.certificates else []
        parts += [f"drawing {_several(self.confidence, 'confidence bound')} again"] if self.confidence else []
        return f"{' and '.join(parts)}: up to {duration(max(1.0, self.seconds))}, often much less"

    def plus(self, seconds: float, certificates: int = 0, confidence: int = 0) -> "Expected":
        """With another file.

        Args:
            seconds: that it may take.
            certificates: 1 for a certificate.
            confidence: 1 for a confidence bound.
        """
        return Expected(
            self.certificates + certificates, self.seconds + seconds, self.confidence + confidence
        )


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def expect(
    paths: Sequence[Path], messages: Path | None, jobs: int, limits: ProofLimits, sample: Sample | None = None
) -> Expected:
    """The most that the check can take; files that cannot be read or cost too much are left out.

    Args:
        paths: of certificates and confidence bounds.
        messages: the folder of the clients' messages.
        jobs: maximum number of processes.
        limits: of each proof.
        sample: which properties are proved; all of them where None, and confidence bounds are drawn again.
    """
    found = Expected()
    for path in paths:
        try:
            if not is_confidence(path):
                found = found.plus(_proof_seconds(path, messages, jobs, limits, sample), certificates=1)
            elif sample is None:
                found = found.plus(_draw_seconds(path, messages, jobs, limits), confidence=1)
        except (FedcertError, MemoryError):
            continue  # the check itself says why
    return found


def _proof_seconds(
    path: Path, messages: Path | None, jobs: int, limits: ProofLimits, sample: Sample | None
) -> float:
    document = read_document(path, messages, limits)
    estimate = family_of(document).estimate
    processes = affordable(document, estimate, jobs, limits)
    share = 1.0 if sample is None else min(1.0, sample.size / len(document.properties))
    return share * estimate(document, processes).seconds / processes


def _draw_seconds(path: Path, messages: Path | None, jobs: int, limits: ProofLimits) -> float:
    statement = read_confidence(path, messages or path.absolute().parent.parent / "messages", limits.memory)
    return confidence_cost.estimate(statement).seconds / confidence_cost.affordable(statement, jobs, limits)
