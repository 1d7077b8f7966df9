"""A check for machines: one JSON object."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from fedcert_check import __version__
from fedcert_check.checking import Refused, Report
from fedcert_check.document import Client
from fedcert_check.run_folder.confident import Recounted
from fedcert_check.run_folder.report import RunReport
from fedcert_check.run_folder.words import confidence_sentence
from fedcert_check.subject import Subject
from fedcert_check.visible import visible
from fedcert_check.words import sentence, statement


def as_json(report: RunReport) -> dict[str, Any]:
    """The report as plain values; texts from files are safe to print.

    Args:
        report: of the check.
    """
    sample, comparison = report.sample, report.comparison
    return {
        "versions": {
            "fedcert-check": __version__,
            **{name: version(name) for name in ("python-flint", "numpy")},
        },
        "path": visible(str(report.path)),
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "sample": None if sample is None else {"properties": sample.size, "seed": sample.seed},
        "certificates": [
            _refused(own) if isinstance(own, Refused) else _certificate(own) for own in report.outcomes
        ],
        "confidence": [
            _refused(own) if isinstance(own, Refused) else _recounted(own) for own in report.confidence
        ],
        "run": None
        if comparison is None
        else {
            "agrees": comparison.agrees,
            "compared": list(comparison.compared),
            "findings": [
                {"file": visible(own.file), "place": visible(own.place), "says": visible(own.complaint)}
                for own in comparison.findings
            ],
            "unreadable": list(comparison.unreadable),
            "notes": list(comparison.notes),
        },
    }


def _certificate(report: Report) -> dict[str, Any]:
    document, found = report.document, report.by_property
    return {
        "file": None if report.path is None else visible(report.path.name),
        "claim": {"kind": document.kind, "rule": document.rule.name, "events": document.events},
        "clients": _clients(document.clients),
        "subject": _subject(document.subject),
        "words": visible(sentence(report)),
        "states": visible(statement(document, report.claimed_mean)),
        "claimed": _bounds(*report.claimed_mean),
        "claimed_of_checked": _bounds(*report.claimed_of_asked),
        "proved": _bounds(*report.proved_mean),
        "verdict": report.outcome.value,
        "properties": len(document.properties),
        "checked": len(report.proved),
        "failures": [{"property": p, **_bounds(found[p].lower, found[p].upper)} for p in report.failures],
    }


def _recounted(own: Recounted) -> dict[str, Any]:
    statement, report = own.statement, own.report
    return {
        "file": visible(own.path.name),
        "rule": statement.rule.name,
        "clients": _clients(statement.clients or ()),
        "subject": _subject(own.subject),
        "words": visible(confidence_sentence(own)),
        "draws": statement.draws,
        "beta": statement.beta,
        "claimed": _bounds(*own.claimed_mean),
        "found": None if report is None else _bounds(*report.found_mean),
        "verdict": own.outcome,
        "properties": len(statement.properties),
        "failures": list(own.failures),
    }


def _clients(clients: Sequence[Client]) -> list[dict[str, str]]:
    return [{"client": client.name, "digest": client.digest} for client in clients]


def _subject(subject: Subject | None) -> dict[str, Any] | None:
    if subject is None:
        return None
    return {
        "words": visible(subject.describe()),
        "inputs": subject.digest,
        "source": subject.source,
        "chosen": subject.chosen,
        "available": subject.available,
        "seed": subject.seed,
        "norm": subject.norm,
        "radius": subject.common_radius,
    }


def _refused(own: Refused) -> dict[str, Any]:
    return {"file": visible(own.path.name), "verdict": "NOT CHECKED", "reason": visible(own.reason)}


def _bounds(lower: float, upper: float | None) -> dict[str, float | None]:
    return {"lower": lower, "upper": upper}
