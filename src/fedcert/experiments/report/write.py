"""All that is made from the results of grids and runs: tables, figures and the page."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from fedcert import atomic
from fedcert.errors import UnreadableFile
from fedcert.experiments.output import read_properties, read_summary
from fedcert.experiments.report.cells import read_cells, results
from fedcert.experiments.report.figures import all_pictures, write_pictures
from fedcert.experiments.report.formats import write_tables
from fedcert.experiments.report.job import Job
from fedcert.experiments.report.page import grid_page
from fedcert.experiments.report.tables import all_tables


def write_report(folders: Sequence[Path], out: Path, command: str) -> list[Job]:
    """Write tables/, figures/ and report.html from the results in some folders; the jobs that they show.

    Args:
        folders: each the folder of a grid, of a shard of one, or of one run.
        out: where the report goes.
        command: the command line that makes the results again.
    """
    cells, jobs = read_cells(folders), read_jobs(folders, out)
    tables, pictures = all_tables(cells), all_pictures(cells)
    write_tables(tables, out / "tables")
    write_pictures(pictures, out / "figures")
    atomic.write(out / "report.html", grid_page(jobs, tables, pictures, command))
    return jobs


def read_jobs(folders: Sequence[Path], out: Path) -> list[Job]:
    """The contents of all results, each job once.

    Args:
        folders: see `write_report`.
        out: from where their own reports are linked.
    """
    found: dict[str, Job] = {}
    for path in (path for folder in folders for path in results(folder)):
        summary, properties = read_summary(path.parent), read_properties(path.parent)
        if "histograms" not in summary:
            raise UnreadableFile(f"{path}: of an earlier version; remove it, or run it again")
        report = path.with_name("report.html")
        link = os.path.relpath(report, out) if report.exists() and path.parent != out else ""
        found.setdefault(json.dumps(summary["config"], sort_keys=True), Job(summary, properties, link))
    return list(found.values())
