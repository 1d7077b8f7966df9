"""Proved twice: every certificate of a run is proved again by the independent checker."""

import os
from collections.abc import Callable
from pathlib import Path

from fedcert.app.records import Summary
from fedcert.progress import Tracker
from fedcert_check import FedcertError, Report, check
from fedcert_check.confidence import ConfidenceReport, check_confidence

CONFIDENCE = "confidence"
"""The folder of a run's confidence bounds."""


def independent_checker(track: Tracker, notify: Callable[[str], None]) -> Callable[[Path], bool]:
    """A function that says whether the checker proves the certificate in a file.

    Args:
        track: shows progress.
        notify: is called with the reason where a certificate is not proved.
    """

    def prove_again(path: Path) -> bool:
        again = check_confidence if path.parent.name == CONFIDENCE else check
        try:
            report: Report | ConfidenceReport = again(path, jobs=os.cpu_count() or 1, track=track)
        except FedcertError as error:
            notify(f"not re-proved: {error}")
            return False
        if not report.verdict:
            notify(f"not re-proved: {path.name}: {len(report.failures)} properties")
        return report.verdict

    return prove_again


def all_reproved(summary: Summary) -> bool:
    """Whether every claim of a run was proved again.

    Args:
        summary: the content of result.json.
    """
    rows = (summary["summary"], summary["margins"], summary["radii"], summary["confidence"])
    return all(row["reproved"] for part in rows for row in part)
