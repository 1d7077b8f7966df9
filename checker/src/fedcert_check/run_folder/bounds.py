"""The rows of `summary` and `radii` against the certificates that they name."""

import math
from collections.abc import Iterator

import numpy as np

from fedcert_check.balls import mean_down, mean_up, median_down
from fedcert_check.document import Document
from fedcert_check.run_folder.evidence import Evidence
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import RESULT, Row, Stated
from fedcert_check.subject import Subject
from fedcert_check.validation import quoted

WRITERS_ROUNDING = 1e-9
"""How much weaker than the certificate's a stated mean may be: sums are rounded in the safe direction."""


def compare_bounds(stated: Stated, evidence: Evidence) -> Iterator[Finding]:
    """Claims that do not follow from their certificates, or are others than theirs.

    Args:
        stated: what result.json says.
        evidence: the certificates.
    """
    for row in stated.rows:
        document = evidence.certificates.get(row.certificate)
        if document is None:
            continue  # missing or unreadable, which is said elsewhere
        yield from _compare_claim(row, document)
        yield from compare_margin(row, document.subject, stated.config.get("margin"))
        if document.subject is None:
            says = f"{row.certificate} does not state the inputs and the radius that it speaks about"
            yield Finding(RESULT, row.place, says)
        elif row.threshold is None:
            yield from _compare_means(row, document, document.subject)
        else:
            yield from _compare_radii(row, document, document.subject)


def _compare_claim(row: Row, document: Document) -> Iterator[Finding]:
    own = {
        "claim": document.kind,
        "rule": document.rule.name,
        "events": document.events,
        "properties": len(document.properties),
    }
    for field, proven in own.items():
        if getattr(row, field) != proven:
            yield other(row, field, getattr(row, field), proven)


def compare_margin(row: Row, subject: Subject | None, usual: object) -> Iterator[Finding]:
    """A margin other than the one that the certificate, or the confidence bound, is about.

    Args:
        row: of result.json.
        subject: of the file that it names; None where the file does not say.
        usual: the margin of the settings.
    """
    said = usual if row.margin is None else row.margin
    if subject is not None and said != subject.margin:
        place = "config.margin" if row.margin is None else f"{row.place}.margin"
        yield Finding(RESULT, place, f"{quoted(said)}, but {subject.margin!r}", row.certificate)


def _compare_means(row: Row, document: Document, subject: Subject) -> Iterator[Finding]:
    if subject.common_radius is None:
        yield Finding(RESULT, f"{row.place}.epsilon", f"{row.certificate} has a radius for each input")
    elif row.epsilon != subject.common_radius:
        yield other(row, "epsilon", row.epsilon, subject.common_radius)
    yield from at_most(row, "lower", row.lower, mean_down(document.lower.tolist()))
    if row.upper is None or document.upper is None:
        if not (row.upper is None and document.upper is None):
            proven = None if document.upper is None else mean_up(document.upper.tolist())
            yield other(row, "upper", row.upper, proven)
    else:
        yield from at_least(row, "upper", row.upper, mean_up(document.upper.tolist()))


def _compare_radii(row: Row, document: Document, subject: Subject) -> Iterator[Finding]:
    short = np.flatnonzero((subject.radius > 0) & (document.lower < row.threshold))
    if short.size:
        p = int(short[0])
        says = (
            f"{row.threshold!r} is more than the {float(document.lower[p])!r} that {row.certificate} claims"
            f" of property {p} at its radius {float(subject.radius[p])!r}"
        )
        yield Finding(RESULT, f"{row.place}.threshold", says)
    radii = subject.radius.tolist()
    yield from at_most(row, "mean", row.lower, mean_down(radii))
    yield from at_most(row, "median", _stated_median(row), median_down(radii))


def _stated_median(row: Row) -> float:
    return math.nan if row.upper is None else row.upper


def at_most(row: Row, field: str, claimed: float, proven: float) -> Iterator[Finding]:
    """A claim from below is at most what is proven, and less only by rounding.

    Args:
        row: that claims it.
        field: of the row.
        claimed: its value; NaN does not follow.
        proven: what the certificate gives.
    """
    if not claimed <= proven:
        yield _beyond(row, field, claimed, "more", proven)
    elif proven - claimed > WRITERS_ROUNDING:
        yield other(row, field, claimed, proven)


def at_least(row: Row, field: str, claimed: float, proven: float) -> Iterator[Finding]:
    """A claim from above is at least what is proven, and more only by rounding.

    Args:
        row: that claims it.
        field: of the row.
        claimed: its value; NaN does not follow.
        proven: what the certificate gives.
    """
    if not claimed >= proven:
        yield _beyond(row, field, claimed, "less", proven)
    elif claimed - proven > WRITERS_ROUNDING:
        yield other(row, field, claimed, proven)


def _beyond(row: Row, field: str, claimed: float, how: str, proven: float) -> Finding:
    return Finding(
        RESULT, f"{row.place}.{field}", f"{claimed!r} is {how} than the {proven!r} of {row.certificate}"
    )


def other(row: Row, field: str, claimed: object, proven: object) -> Finding:
    """A claim that is not the certificate's.

    Args:
        row: that makes it.
        field: of the row.
        claimed: its value.
        proven: that of the certificate.
    """
    return Finding(RESULT, f"{row.place}.{field}", f"{claimed!r}, but {proven!r} in {row.certificate}")
