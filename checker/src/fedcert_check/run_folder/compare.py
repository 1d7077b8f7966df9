"""Holds the files of a run against its certificates: what each claims must follow from one of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from fedcert_check.errors import InvalidRun, UnreadableFile
from fedcert_check.run_folder.about import compare_clients, compare_inputs, compare_settings
from fedcert_check.run_folder.bounds import compare_bounds
from fedcert_check.run_folder.concluding import compare_conclusions
from fedcert_check.run_folder.confident import Recounted, compare_confidence
from fedcert_check.run_folder.entries import parse
from fedcert_check.run_folder.evidence import CERTIFICATES, CONFIDENCE, Evidence, names_in
from fedcert_check.run_folder.findings import Finding, merged
from fedcert_check.run_folder.gallery import GALLERY, compare_gallery
from fedcert_check.run_folder.naming import compare_names
from fedcert_check.run_folder.page import PAGE, compare_page
from fedcert_check.run_folder.saved import BOUNDS, compare_saved, read_saved
from fedcert_check.run_folder.sentences import compare_sentences
from fedcert_check.run_folder.stated import RESULT, Stated, is_earlier, read_stated
from fedcert_check.run_folder.table import TABLE, compare_table, read_table
from fedcert_check.run_folder.weighing import compare_weighing
from fedcert_check.subject import BOX
from fedcert_check.tensorfile import bytes_of
from fedcert_check.visible import visible

MAX_BYTES = 2**26  # of each file
MAX_FINDINGS = 20  # of one kind
MAX_NAMED = 10  # files that are not looked at
EARLIER = (
    f"{RESULT}: written by an earlier version: it names no certificates, so nothing that it says was checked"
)
ALONE = f"no {RESULT}: the certificates stand alone, and nothing was compared with them"
WORDS = f"not checked: the pictures and other words of {PAGE}"
"""Beside its marked bounds, its headline, its conclusions and other bounds in words."""


MESSAGES, REFUSED = "messages", "refused.json"
LOOKED_AT = frozenset((RESULT, TABLE, GALLERY, PAGE, BOUNDS, CERTIFICATES, CONFIDENCE, MESSAGES))


@dataclass(frozen=True)
class Comparison:
    """What came of holding a run's files against its certificates.

    Attributes:
        compared: the names of the files that were.
        findings: claims that do not follow, certificates that are missing or additional.
        unreadable: a line for each file that no run can have written.
        notes: what a reader should know besides.
    """

    compared: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    unreadable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether nothing speaks against the files."""
        return not self.findings and not self.unreadable


def compare(folder: Path, evidence: Evidence, recounted: Mapping[str, Recounted] | None = None) -> Comparison:
    """Hold the files of a run against the certificates, and name those that were not looked at.

    Args:
        folder: of the run.
        evidence: its certificates.
        recounted: its confidence bounds, by file name.
    """
    found = _compare(folder, evidence, recounted)
    return replace(found, notes=(*found.notes, *_not_looked_at(folder)))


def _not_looked_at(folder: Path) -> Iterator[str]:
    """A line for who was refused, as recorded, and one for all files that no run needs."""
    names = names_in(folder)
    if REFUSED in names:
        yield f"not proved, as recorded: which clients were refused ({REFUSED})"
    others = sorted(names - LOOKED_AT - {REFUSED})
    if others:
        more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
        yield visible(f"other files, not looked at: {', '.join(others[:MAX_NAMED])}{more}")


def _compare(
    folder: Path, evidence: Evidence, recounted: Mapping[str, Recounted] | None = None
) -> Comparison:
    """Hold result.json, properties.csv, properties.json and report.html against the certificates.

    Args:
        folder: of the run.
        evidence: its certificates.
        recounted: its confidence bounds, by file name.
    """
    if not (folder / RESULT).exists():
        left = [name for name in (TABLE, GALLERY, PAGE) if (folder / name).exists()]
        if not left:
            return _alone(folder, evidence)
        return Comparison(findings=(Finding(RESULT, "", f"missing, but there is {' and '.join(left)}"),))
    try:
        content = _bytes(folder, RESULT)
        result = parse(RESULT, content).object()
        if is_earlier(result):
            return _earlier(evidence)
        stated = read_stated(result)
    except InvalidRun as error:
        return Comparison(unreadable=(visible(str(error)),))
    found = [*_claims(stated, evidence, recounted or {})]
    compared, unreadable = [RESULT], []
    others: dict[str, Callable[[bytes], Iterable[Finding]]] = {
        TABLE: lambda own: compare_table(read_table(own), stated, evidence),
        GALLERY: lambda own: compare_gallery(parse(GALLERY, own), stated, evidence),
        PAGE: lambda own: [*compare_page(own, content, stated), *compare_sentences(own, stated)],
    }
    for name, compare_with in others.items():
        if not (folder / name).exists():
            found.append(Finding(name, "", "missing"))
            continue
        try:
            found += _first(compare_with(_bytes(folder, name)), name)
            compared.append(name)
        except InvalidRun as error:
            unreadable.append(visible(str(error)))
    return Comparison(tuple(compared), tuple(found), tuple(unreadable), (_recorded(stated), WORDS))


def _alone(folder: Path, evidence: Evidence) -> Comparison:
    """Certificates without a result.json, as `Certification.save` writes them with a table of bounds."""
    if not (folder / BOUNDS).exists():
        return Comparison(notes=(ALONE,))
    try:
        found = _first(compare_saved(read_saved(_bytes(folder, BOUNDS)), evidence), BOUNDS)
    except InvalidRun as error:
        return Comparison(unreadable=(visible(str(error)),))
    if unread := len(evidence.unread):
        which = "a certificate" if unread == 1 else f"{unread} certificates"
        note = f"{BOUNDS}: not compared with {which} that could not be checked"
        return Comparison(findings=tuple(found), notes=(note,))
    return Comparison((BOUNDS,), tuple(found))


def _recorded(stated: Stated) -> str:
    """What result.json says beside what can be proved."""
    found, where = (
        stated.inputs.accuracy,
        "at the centres of the boxes" if stated.norm == BOX else "on these inputs",
    )
    accuracy = "" if found is None else f"accuracy of the mean model {where} {100 * found:.1f} %, "
    return f"not proved, as recorded: {accuracy}estimates, times, and the settings of the training"


def _claims(stated: Stated, evidence: Evidence, recounted: Mapping[str, Recounted]) -> list[Finding]:
    """What result.json itself claims and does not have a proof of."""
    parts: list[Iterable[Finding]] = [
        compare_names(stated.rows, evidence.files, CERTIFICATES),
        compare_names(stated.confidence, evidence.confidence_files, CONFIDENCE),
        compare_clients(stated, evidence),
        compare_inputs(stated, evidence),
        compare_settings(stated, evidence),
        compare_weighing(stated, evidence),
        compare_bounds(stated, evidence),
        compare_confidence(stated, recounted),
        compare_conclusions(stated, evidence),
    ]
    return [finding for part in parts for finding in _first(part, RESULT)]


def _earlier(evidence: Evidence) -> Comparison:
    """A file without names of certificates is refused: its figures cannot be held against anything."""
    if any(source.subject is not None for _, source in evidence.sources()):
        says = "missing, but the certificates are of a version that states them"
        return Comparison(findings=(Finding(RESULT, "inputs", says),))
    return Comparison(unreadable=(EARLIER,))


def _first(findings: Iterable[Finding], file: str) -> list[Finding]:
    """The first findings, and how many more there are."""
    each = merged(findings)
    shown = list(islice(each, MAX_FINDINGS))
    more = sum(1 for _ in each)
    return [*shown, *([Finding(file, "", f"and {more} more of this kind")] if more else [])]


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return bytes_of(folder / name, MAX_BYTES)
    except OSError as error:
        raise InvalidRun(f"{name}: {error.strerror or error}") from error
    except UnreadableFile as error:
        raise InvalidRun(f"{name}: {error}") from error
