"""`fedcert check RUN`: every certificate is proved again, and every claim must follow from one of them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic

from fedcert_check.checking import Refused, Report, attempt, certificates
from fedcert_check.cost import DEFAULT_LIMITS, ProofLimits
from fedcert_check.progress import Tracker, duration, silent
from fedcert_check.run_folder.compare import compare
from fedcert_check.run_folder.confident import Recounted, is_confidence, recount_file
from fedcert_check.run_folder.evidence import CERTIFICATES, CONFIDENCE, Evidence, names_in
from fedcert_check.run_folder.report import RunReport
from fedcert_check.run_folder.stated import RESULT
from fedcert_check.run_folder.whole_page import MakePage, compare_whole_page
from fedcert_check.sampling import Sample
from fedcert_check.visible import visible

Say = Callable[[str], None]


def say_nothing(line: str) -> None:
    """Drop a line about progress."""


def check_run(
    folder: Path,
    messages: Path | None = None,
    jobs: int = 1,
    track: Tracker = silent,
    limits: ProofLimits = DEFAULT_LIMITS,
    sample: Sample | None = None,
    say: Say = say_nothing,
    make_page: MakePage | None = None,
) -> RunReport:
    """Prove the certificates of a run again and hold all that its files claim against them.

    Args:
        folder: of the run.
        messages: the folder of the clients' messages; the run's own where None.
        jobs: maximum number of processes; see `fedcert_check.check`.
        track: shows progress within a proof.
        limits: of each proof.
        sample: which properties to prove; all of them where None.
        say: is called with a line after each certificate.
        make_page: makes the page of a run anew, to compare its words too; None if nothing at hand can.
    """
    outcomes = _prove(certificates_of(folder), messages, jobs, track, limits, sample, say)
    confidence = _recount(confidence_of(folder), messages, jobs, track, limits, sample, say)
    drawn = {own.path.name: own for own in confidence if isinstance(own, Recounted)}
    comparison = compare(folder, gather(folder, outcomes, drawn), drawn)
    comparison = compare_whole_page(folder, comparison, make_page)
    return RunReport(folder, tuple(outcomes), comparison, sample, tuple(confidence))


def gather(folder: Path, outcomes: Sequence[Report | Refused], drawn: Mapping[str, Recounted]) -> Evidence:
    """All that claims may follow from.

    Args:
        folder: of the run.
        outcomes: of its certificates.
        drawn: its confidence bounds, by file name.
    """
    return Evidence(
        {own.path.name: own.document for own in outcomes if isinstance(own, Report) and own.path},
        names_in(folder / CERTIFICATES),
        {name: own.source for name, own in drawn.items()},
        names_in(folder / CONFIDENCE),
    )


def certificates_of(folder: Path) -> list[Path]:
    """The certificate files of a run; a folder that has neither these nor a result.json raises.

    Args:
        folder: of the run.
    """
    if (folder / RESULT).exists():  # which says what is missing
        return sorted((folder / CERTIFICATES).glob("*.safetensors"))
    return certificates(folder)


def confidence_of(folder: Path) -> list[Path]:
    """The confidence bounds of a run.

    Args:
        folder: of the run.
    """
    return sorted((folder / CONFIDENCE).glob("*.safetensors"))


def check_file(
    path: Path,
    messages: Path | None = None,
    jobs: int = 1,
    track: Tracker = silent,
    limits: ProofLimits = DEFAULT_LIMITS,
    sample: Sample | None = None,
    say: Say = say_nothing,
) -> RunReport:
    """Prove one certificate again, or draw one confidence bound again.

    Args:
        path: of the file.
        messages: as for `check_run`.
        jobs: as for `check_run`.
        track: as for `check_run`.
        limits: of the proof.
        sample: as for `check_run`.
        say: as for `check_run`.
    """
    if is_confidence(path):
        found = _recount([path], messages, jobs, track, limits, sample, say)
        return RunReport(path, (), None, sample, tuple(found))
    return RunReport(path, tuple(_prove([path], messages, jobs, track, limits, sample, say)), None, sample)


def _prove(
    paths: Sequence[Path],
    messages: Path | None,
    jobs: int,
    track: Tracker,
    limits: ProofLimits,
    sample: Sample | None,
    say: Say,
) -> list[Report | Refused]:
    outcomes: list[Report | Refused] = []
    for number, path in enumerate(track(paths, "certificates", len(paths)), 1):
        began = monotonic()
        outcome = attempt(path, messages, jobs, track, limits, sample)
        if isinstance(outcome, Report):
            outcome = outcome.without_proof()
            say(f"{_which(number, len(paths), path)}: {outcome.outcome} in {duration(monotonic() - began)}")
        outcomes.append(outcome)
    return outcomes


def _recount(
    paths: Sequence[Path],
    messages: Path | None,
    jobs: int,
    track: Tracker,
    limits: ProofLimits,
    sample: Sample | None,
    say: Say,
) -> list[Recounted | Refused]:
    """Draw confidence bounds again; where a sample is asked for they are only read."""
    outcomes: list[Recounted | Refused] = []
    for number, path in enumerate(track(paths, "confidence bounds", len(paths)), 1):
        began = monotonic()
        outcome = recount_file(path, messages, jobs, track, limits, draw=sample is None)
        if isinstance(outcome, Recounted):
            which = _which(number, len(paths), path, "confidence bound")
            say(f"{which}: {outcome.outcome} in {duration(monotonic() - began)}")
        outcomes.append(outcome)
    return outcomes


def _which(number: int, count: int, path: Path, what: str = "certificate") -> str:
    return visible(f"{what} {number} of {count}, {path.name}" if count > 1 else path.name)
