"""The rows of `conclusions` against what follows from the certificates, made again."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fedcert_check.conclusions import Bounds, Conclusion, Sampled, conclude, verify
from fedcert_check.document import Document
from fedcert_check.errors import InvalidCertificate
from fedcert_check.run_folder.evidence import Evidence
from fedcert_check.run_folder.findings import Finding
from fedcert_check.run_folder.stated import RESULT, Confident, Row, Stated
from fedcert_check.validation import quoted, require

PLACE = "conclusions"


def compare_conclusions(stated: Stated, evidence: Evidence) -> Iterator[Finding]:
    """Conclusions that do not follow, and those that are missing or out of place.

    Args:
        stated: what result.json says.
        evidence: the certificates.
    """
    if any(evidence.of(row) is None for row in (*stated.rows, *stated.confidence)):
        return  # a certificate is missing or unreadable, which is said elsewhere
    confidence = stated.config.get("confidence")
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        yield Finding(RESULT, "config.confidence", f"{quoted(confidence)} is not a confidence")
        return
    try:
        expected = [one for bounds in _bounds(stated, evidence) for one in conclude(bounds, confidence)]
    except InvalidCertificate as error:
        yield Finding(RESULT, PLACE, f"nothing can be concluded: {error}")
        return
    for i, (row, own) in enumerate(zip(stated.conclusions, expected, strict=False)):
        wrong = verify(row.value, own)
        if wrong is not None:
            yield Finding(RESULT, f"{PLACE}.{i}", wrong)
    for own in expected[len(stated.conclusions) :]:
        yield Finding(RESULT, PLACE, f"{_name(own)} is missing")
    for row in stated.conclusions[len(expected) :]:
        yield Finding(RESULT, row.place, "additional: it does not follow from the certificates")


def _name(own: Conclusion) -> str:
    return f"conclusion {own.name} ({own.rule}, radius {own.epsilon!r})"


def _bounds(stated: Stated, evidence: Evidence) -> Iterator[Bounds]:
    """What is known of the deployed model at each radius, in the order of the settings."""
    rule = stated.config.get("rule")
    deployed = [row for row in stated.bounds if row.claim != "local" and row.rule == rule]
    for epsilon in dict.fromkeys(row.epsilon for row in deployed):
        rows = [row for row in deployed if row.epsilon == epsilon]
        same = [row for row in stated.margins if row.epsilon == epsilon and row.rule == rule]
        margins = [row for row in same if row.claim != "local"]
        drawn = [row for row in stated.confidence if row.epsilon == epsilon and row.rule == rule]
        yield replace(best_bounds(rows, margins, evidence), sampled=_sampled(drawn, evidence))


def _sampled(rows: list[Confident], evidence: Evidence) -> Sampled | None:
    """The confidence bound for the same inputs, radius and rule, if there is one."""
    for row in rows:
        own = evidence.confidence[row.certificate]
        upper = np.ones_like(own.lower) if own.upper is None else own.upper
        return Sampled(tuple(own.lower.tolist()), tuple(upper.tolist()), row.confidence, row.draws)
    return None


def best_bounds(rows: list[Row], margins: list[Row], evidence: Evidence) -> Bounds:
    """For each input the greatest L and the least U of several certificates of the same model.

    Args:
        rows: claims of the same inputs, radius and rule, at least one.
        margins: claims of other margins.
        evidence: their certificates, which are all there.
    """
    documents = [_document(row, evidence) for row in rows]
    first = documents[0]
    if first.subject is None:
        raise InvalidCertificate(f"{rows[0].certificate} does not state what it speaks about")
    for row, own in zip(rows, documents, strict=True):
        count = len(own.properties)
        require(
            count == len(first.properties),
            f"{row.certificate} has {count} inputs, {rows[0].certificate} {len(first.properties)}",
        )
    uppers = [own.upper for own in documents if own.upper is not None]
    return Bounds(
        first.subject,
        rows[0].rule,
        tuple(np.max([own.lower for own in documents], axis=0).tolist()),
        tuple(np.min(uppers, axis=0).tolist()) if uppers else None,
        tuple(_at_margin(_document(row, evidence)) for row in margins),
        first.properties.C.shape[2],
    )


def _document(row: Row, evidence: Evidence) -> Document:
    return evidence.certificates[row.certificate]


def _at_margin(document: Document) -> tuple[float, tuple[float, ...]]:
    if document.subject is None:
        raise InvalidCertificate("a certificate does not state its margin")
    return document.subject.margin, tuple(document.lower.tolist())
