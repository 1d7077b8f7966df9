"""The verdict on a run, or on one certificate: what was proved, what agrees, and how the command ends."""

from dataclasses import dataclass
from pathlib import Path

from fedcert_check.checking import Refused, Report, Verdict
from fedcert_check.run_folder.compare import Comparison
from fedcert_check.run_folder.confident import Recounted
from fedcert_check.sampling import Sample


@dataclass(frozen=True)
class RunReport:
    """What a check found.

    Attributes:
        path: of the run's folder, or of a certificate.
        outcomes: of each certificate.
        comparison: of the run's other files with them; None where one certificate was checked.
        sample: which properties were looked at; None for all.
        confidence: of each confidence bound.
    """

    path: Path
    outcomes: tuple[Report | Refused, ...]
    comparison: Comparison | None = None
    sample: Sample | None = None
    confidence: tuple[Recounted | Refused, ...] = ()

    @property
    def reports(self) -> list[Report]:
        """Of the certificates that have a verdict."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Report)]

    @property
    def recounted(self) -> list[Recounted]:
        """The confidence bounds that have a verdict."""
        return [outcome for outcome in self.confidence if isinstance(outcome, Recounted)]

    @property
    def refused(self) -> list[Refused]:
        """The certificates and confidence bounds without a verdict."""
        return [one for one in (*self.outcomes, *self.confidence) if isinstance(one, Refused)]

    @property
    def sampled(self) -> bool:
        """Whether not all was looked at."""
        return any(own.sampled for own in self.reports) or any(own.report is None for own in self.recounted)

    @property
    def exit_code(self) -> int:
        """0: all is proved and agrees; 1: something is not or does not; 2: something could not be checked.

        A sample that refutes nothing ends with 0 too: its words say that it is a sample.
        """
        comparison = self.comparison or Comparison()
        if self.refused or comparison.unreadable:
            return 2
        failed = any(report.outcome is Verdict.NOT_PROVED for report in self.reports)
        failed |= any(own.failures for own in self.recounted)
        return 1 if failed or comparison.findings else 0

    @property
    def verdict(self) -> str:
        """proved, not refuted, NOT PROVED or NOT CHECKED; a confidence bound alone is found again, or not."""
        if self.exit_code == 2:
            return "NOT CHECKED"
        if not self.outcomes and self.comparison is None:
            return self.recounted[0].outcome
        if self.exit_code == 1:
            return Verdict.NOT_PROVED.value
        return (Verdict.NOT_REFUTED if self.sampled else Verdict.PROVED).value
