"""All that is made from the results of grids and runs: tables, figures and the page."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from fedcert.app.journal import RESULT
from fedcert.app.report.cells import cells_of
from fedcert.app.report.figures import all_pictures, write_pictures
from fedcert.app.report.formats import write_tables
from fedcert.app.report.job import Job
from fedcert.app.report.page import grid_page
from fedcert.app.report.tables import all_tables
from fedcert.app.result import read_properties, read_summary
from fedcert.errors import DataError
from fedcert.wire import atomic
from fedcert_check.visible import visible

JOBS = "jobs"


def write_report(folders: Sequence[Path], out: Path, command: str) -> list[Job]:
    """Write tables/, figures/ and report.html from the results in some folders; the jobs that they show.

    Args:
        folders: each the folder of a grid, of a shard of one, or of one run.
        out: where the report goes.
        command: the command line that makes the results again.
    """
    jobs = read_jobs(folders, out)
    cells = cells_of(job.summary for job in jobs)
    tables, pictures = all_tables(cells), all_pictures(cells)
    write_tables(tables, out / "tables")
    write_pictures(pictures, out / "figures")
    atomic.write(out / "report.html", grid_page(jobs, tables, pictures, visible(command)))
    return jobs


def read_jobs(folders: Sequence[Path], out: Path) -> list[Job]:
    """The contents of all results, each job once.

    Args:
        folders: see `write_report`.
        out: from where their own reports are linked.
    """
    found: dict[str, Job] = {}
    for run in (run for folder in folders for run in runs(folder)):
        summary = read_summary(run)
        properties = read_properties(run, summary)
        report = run / "report.html"
        link = quote(os.fsencode(os.path.relpath(report, out))) if report.exists() and run != out else ""
        found.setdefault(json.dumps(summary["config"], sort_keys=True), Job(summary, properties, link))
    return list(found.values())


def runs(folder: Path) -> Iterator[Path]:
    """The folders of finished runs: of a run itself, or of the jobs of a grid.

    Args:
        folder: of either.
    """
    found = [path.parent for path in sorted((folder / JOBS).glob(f"*/{RESULT}"))]
    own = [folder] if (folder / RESULT).is_file() else []
    if not (own or found):
        raise DataError(
            f"{folder}: no results there: give the folder of a run, or of a grid with finished jobs"
        )
    yield from (*own, *found)
