"""The page of a run, made anew from its files: `fedcert check` holds the page in the folder against it.

What makes pages is imported when it is asked for: the command line starts without it.
"""

from pathlib import Path


def page_again(folder: Path) -> str | None:
    """What `fedcert run` of this version writes to report.html; None for a run of another version.

    Args:
        folder: of the run.
    """
    from fedcert import __version__
    from fedcert.app.journal import RESULT
    from fedcert.app.report.page import run_page
    from fedcert.app.report.runs import FinishedRun
    from fedcert.app.report.seal import digest
    from fedcert.app.result import read_properties, read_summary

    summary = read_summary(folder)
    if summary["fedcert"] != __version__:
        return None
    result = digest((folder / RESULT).read_bytes().decode())
    return run_page(FinishedRun(summary, read_properties(folder, summary)), result)
