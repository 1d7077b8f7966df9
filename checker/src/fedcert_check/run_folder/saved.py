"""bounds.csv, the table that `Certification.save` writes beside its certificates, held against them."""

import csv
import io
from collections.abc import Iterator

import numpy as np

from fedcert_check.document import Document
from fedcert_check.errors import InvalidRun
from fedcert_check.run_folder.about import same_rule
from fedcert_check.run_folder.evidence import CERTIFICATES, Evidence
from fedcert_check.run_folder.findings import Finding
from fedcert_check.validation import quoted

BOUNDS = "bounds.csv"
COLUMNS = (
    *("property", "label", "epsilon", "norm", "chosen", "margin"),
    *("claim", "rule", "events", "lower", "upper"),
)
Key = tuple[str, str, str]


def read_saved(content: bytes) -> list[list[str]]:
    """The lines of the table; raises `InvalidRun` with the line that no program wrote.

    Args:
        content: the bytes of the file.
    """
    try:
        rows = list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))
    except (ValueError, csv.Error) as error:
        raise InvalidRun(f"{BOUNDS}: not readable as a table ({str(error)[:120]})") from error
    if not rows or tuple(rows[0]) != COLUMNS:
        raise InvalidRun(f"{BOUNDS}: line 1: the columns are not {','.join(COLUMNS)}")
    for number, row in enumerate(rows, 1):
        if len(row) != len(COLUMNS):
            raise InvalidRun(f"{BOUNDS}: line {number}: {len(row)} columns, not {len(COLUMNS)}")
    return rows[1:]


def compare_saved(rows: list[list[str]], evidence: Evidence) -> Iterator[Finding]:
    """Lines that say other than the certificates, that are there twice, or that are missing.

    Where a certificate could not be read, a line that no other one makes may be its own: it is left out.

    Args:
        rows: of the table.
        evidence: the certificates.
    """
    yield from _compare_problems(evidence)
    files: dict[Key, str] = {}
    for name, document in evidence.certificates.items():
        first = files.setdefault((document.kind, document.rule.name, document.events), name)
        if first != name:
            yield Finding(f"{CERTIFICATES}/{name}", "", f"the same claim as {first}")
    missing: dict[tuple[str, ...], str] = {
        (*key, str(p)): name
        for key, name in files.items()
        for p in range(len(evidence.certificates[name].properties))
    }
    for number, row in enumerate(rows, 2):
        own = dict(zip(COLUMNS, row, strict=True))
        key = (own["claim"], own["rule"], own["events"])
        file = missing.pop((*key, own["property"]), None)
        if file is None and evidence.unread and key not in files:
            continue  # which is said elsewhere
        if file is None:
            what = quoted(" ".join((*key, own["property"])))
            yield Finding(
                BOUNDS, f"line {number}", f"a claim that no certificate makes, or that is above: {what}"
            )
            continue
        proven = _entries(evidence.certificates[file], int(own["property"]))
        for field, value in proven.items():
            if own[field] != value:
                says = f"{quoted(own[field])}, but {quoted(value)}"
                yield Finding(BOUNDS, f"line {number}: {field}", says, file)
    for (*_, p), name in missing.items():
        yield Finding(BOUNDS, "", f"the line of property {p} is missing", name)


def _compare_problems(evidence: Evidence) -> Iterator[Finding]:
    """Certificates of another problem than the first: the lines of one property would speak of several."""
    documents = list(evidence.certificates.items())
    for name, own in documents[1:]:
        first, other = documents[0]
        regions = ("lower", "upper", "C", "d")
        same = {
            "network": own.network == other.network,
            "clients": [c.digest for c in own.clients] == [c.digest for c in other.clients],
            "rule": own.rule.name == other.rule.name and same_rule(own.rule, other.rule),
            "properties": all(
                np.array_equal(getattr(own.properties, part), getattr(other.properties, part))
                for part in regions
            ),
        }
        for what, equal in same.items():
            if not equal:
                yield Finding(f"{CERTIFICATES}/{name}", what, "other than", f"{CERTIFICATES}/{first}")


def _entries(document: Document, p: int) -> dict[str, str]:
    """What the line of a property says, to the letter."""
    subject, upper = document.subject, document.upper
    bounds = {
        "lower": repr(float(document.lower[p])),
        "upper": "" if upper is None else repr(float(upper[p])),
    }
    if subject is None:
        return bounds | dict.fromkeys(("label", "epsilon", "norm", "chosen", "margin"), "")
    label = "" if subject.labels is None else str(int(subject.labels[p]))
    about = {"label": label, "epsilon": repr(float(subject.radius[p]))}
    about |= {"norm": subject.norm, "chosen": subject.chosen, "margin": repr(float(subject.margin))}
    return bounds | about
