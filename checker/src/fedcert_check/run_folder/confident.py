"""The confidence bounds of a run: drawn and counted again, and the rows of `confidence` against them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from fedcert_check.balls import mean_down, mean_up
from fedcert_check.checking import Refused
from fedcert_check.confidence import ConfidenceReport, check_confidence
from fedcert_check.confidence.files import FORMAT, Statement, read
from fedcert_check.confidence.level import confidence_of
from fedcert_check.container import peek
from fedcert_check.cost import ProofLimits
from fedcert_check.errors import FedcertError, InvalidCertificate
from fedcert_check.progress import Tracker
from fedcert_check.run_folder.bounds import WRITERS_ROUNDING, at_least, at_most, compare_margin, other
from fedcert_check.run_folder.evidence import Source
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import RESULT, Confident, Stated
from fedcert_check.subject import Subject
from fedcert_check.validation import quoted


@dataclass(frozen=True)
class Recounted:
    """A confidence bound, and what came of drawing and counting again.

    Attributes:
        path: of the file.
        statement: what it claims, without the laws.
        report: what was found; None where nothing was drawn again.
    """

    path: Path
    statement: Statement
    report: ConfidenceReport | None

    @property
    def subject(self) -> Subject | None:
        """What its properties mean; None where the file does not say."""
        return self.statement.subject

    @property
    def source(self) -> Source:
        """What it speaks about and the bounds that it claims."""
        own = self.statement
        return Source(own.rule, own.network, own.clients, self.subject, own.lower, own.upper)

    @property
    def claimed_mean(self) -> tuple[float, float]:
        """The means over the properties of the claimed limits, rounded to what they say."""
        return mean_down(self.statement.lower.tolist()), mean_up(self.statement.upper.tolist())

    @property
    def failures(self) -> tuple[int, ...]:
        """The properties of which more is claimed than was found."""
        return () if self.report is None else self.report.failures

    @property
    def outcome(self) -> str:
        """The verdict: a confidence bound is found again, which is no proof."""
        if self.report is None:
            return "not drawn again"
        return "NOT FOUND AGAIN" if self.failures else "found again"


def recount_file(
    path: Path, messages: Path | None, jobs: int, track: Tracker, limits: ProofLimits, draw: bool = True
) -> Recounted | Refused:
    """Draw and count again; the reason if there is no verdict.

    Args:
        path: of the confidence bound.
        messages: the folder of the clients' messages; the run's own where None.
        jobs: maximum number of processes.
        track: shows progress.
        limits: the most that it may take.
        draw: whether to draw at all, or only to read.
    """
    try:
        if not draw:
            statement = read(path, messages or path.absolute().parent.parent / "messages", limits.memory)
            return Recounted(path, replace(statement, laws=()), None)
        report = check_confidence(path, messages, jobs, track, limits)
        light = replace(report.statement, laws=())
        return Recounted(path, light, replace(report, statement=light))
    except FedcertError as error:
        return Refused(path, str(error), error.explained_in)
    except MemoryError:
        return Refused(path, f"{path}: reading it takes more memory than there is")


def is_confidence(path: Path) -> bool:
    """Whether a file says that it is a confidence bound.

    Args:
        path: of any file.
    """
    try:
        return peek(path)[0].get("format") == FORMAT
    except InvalidCertificate:
        return False


def compare_confidence(stated: Stated, recounted: Mapping[str, Recounted]) -> Iterator[Finding]:
    """Rows that say other than the confidence bounds that they name.

    Args:
        stated: what result.json says.
        recounted: the confidence bounds, by file name.
    """
    for row in stated.confidence:
        own = recounted.get(row.certificate)
        if own is not None:
            yield from _compare_row(row, own)
            yield from compare_margin(row, own.subject, stated.config.get("margin"))
    listed = stated.config.get("confidence_draws")
    for row in stated.confidence:
        if row.draws != listed:
            says = f"{quoted(listed)}, but {row.draws} in {row.place}"
            yield Finding(RESULT, "config.confidence_draws", says)
            break


def _compare_row(row: Confident, own: Recounted) -> Iterator[Finding]:
    statement = own.statement
    pairs = {
        "rule": (row.rule, statement.rule.name),
        "properties": (row.properties, len(statement.properties)),
        "draws": (row.draws, statement.draws),
        "confidence": (row.confidence, confidence_of(statement.beta)),
        "epsilon": (row.epsilon, None if own.subject is None else own.subject.common_radius),
    }
    for field, (said, found) in pairs.items():
        if said != found:
            yield other(row, field, said, found)
    below, above = own.claimed_mean
    yield from at_most(row, "lower", row.lower, below)
    if row.upper is not None:
        yield from at_least(row, "upper", row.upper, above)
    everything = statement.draws * len(statement.properties)
    for field, counts in (("proven", statement.proven), ("broken", statement.broken)):
        share = Fraction(int(counts.sum()), everything)
        if abs(Fraction(getattr(row, field)) - share) > WRITERS_ROUNDING:
            yield other(row, field, getattr(row, field), float(share))
