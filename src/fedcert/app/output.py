"""The output folder of a run: its results, messages, certificates and report."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fedcert.app.journal import PARTS, PROPERTIES, RESULT, Journal, Once, publish
from fedcert.app.parts import VERDICT
from fedcert.app.records import Summary
from fedcert.app.report.page import run_page
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.seal import digest
from fedcert.app.result import read_summary
from fedcert.app.run import RunResult
from fedcert.app.summary import Reproved, describe_properties, properties_table, summarise
from fedcert.errors import CannotWrite, FedcertError, OutputExists, PieceFailed
from fedcert.wire import atomic

FOLDERS = ("messages", "certificates", "confidence")
ProveAgain = Callable[[Path], bool]
"""Whether the independent checker proves the certificate in a file."""


def say_nothing(text: str) -> None:
    """Ignore a notice."""


def carry_out(
    work: Callable[[Once], RunResult],
    folder: Path,
    identity: dict[str, Any],
    overwrite: bool = False,
    notify: Callable[[str], None] = say_nothing,
    prove_again: ProveAgain | None = None,
) -> Summary:
    """Do the work of a run in its folder, or the remaining work; returns the content of result.json.

    A run that was killed resumes where it stopped, if it has the same identity. An error in the input
    leaves the folder as it was; only a failure to write keeps the parts that are already done.

    Args:
        work: makes the run, each part once.
        folder: the run's folder.
        identity: what determines the numbers; see `identity_of`.
        overwrite: whether an earlier run, or an unfinished one of another identity, may be replaced.
        notify: is called with a notice when a run resumes.
        prove_again: proves certificates again with the independent checker; None to leave that out.
    """
    if publish(folder) and identity.items() <= (summary := read_summary(folder)).items():
        return summary
    check_output(folder, overwrite)
    with Journal(folder, identity, overwrite) as journal:
        if journal.resumed:
            notify(f"resuming the unfinished run in {folder}")
        try:
            result = work(journal.once)
            reproved = reprove(result, journal, prove_again) if prove_again else {}
            write_summary(result, journal.folder, reproved)
        except FedcertError as error:
            if not (journal.resumed or isinstance(error, CannotWrite | PieceFailed)):
                journal.discard()
            raise
        journal.complete()
    return read_summary(folder)


def check_output(folder: Path, overwrite: bool) -> None:
    """Refuse, before the work begins, a folder that holds a run or cannot be written to.

    Args:
        folder: the folder that the run will be written to.
        overwrite: whether an earlier run may be replaced, once the new one is complete.
    """
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK)):
        raise OutputExists(f"{folder}: {existing} is not a writable folder: choose another --out")
    for name in FOLDERS:
        if (folder / name).exists() and not (folder / name).is_dir():
            raise OutputExists(f"{folder / name} is a file: choose another --out")
    held = [name for name in PARTS if (folder / name).exists()]
    if held and not overwrite:
        raise OutputExists(
            f"{folder} already holds a run ({', '.join(held)}): choose another --out, or --overwrite"
        )


def reprove(result: RunResult, journal: Journal, prove_again: ProveAgain) -> dict[str, bool]:
    """Whether the checker proves each certificate of a run again.

    Args:
        result: of the run.
        journal: holds the certificates and the messages as files.
        prove_again: the checker.
    """
    files = [*(one.file for one in result.proven), *(one.file for one in result.proven_at_margins)]
    files += [*(one.file for one in result.radii), *(one.file for one in result.drawn)]
    return {
        file: journal.once(f"reproved/{file}.json", partial(prove_again, journal.folder / file), VERDICT)
        for file in files
    }


def write_summary(result: RunResult, folder: Path, reproved: Reproved) -> None:
    """Write the properties, the report and, last, result.json.

    Args:
        result: of the run.
        folder: where to.
        reproved: what the checker said of the certificates.
    """
    summary, properties = summarise(result, reproved), describe_properties(result)
    text = json.dumps(summary, indent=2) + "\n"
    atomic.write(folder / "properties.csv", properties_table(result))
    atomic.write(folder / PROPERTIES, json.dumps(properties) + "\n")
    atomic.write(folder / "report.html", run_page(FinishedRun(summary, properties), digest(text)))
    atomic.write(folder / RESULT, text)
