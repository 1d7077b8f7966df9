"""Runs that `fedcert check` refuses: the lines that it says."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from run_folders import write_run

from fedcert_check import check_run
from fedcert_check.run_folder import RunReport
from fedcert_check.run_folder.check import gather
from fedcert_check.run_folder.compare import compare
from fedcert_check.run_folder.confident import Recounted
from fedcert_check.run_folder.evidence import Evidence
from fedcert_check.run_folder.words import last_line
from fedcert_check.sampling import Sample

QUICK = Sample(1, 0)  # what is proved is not what these tests are about


def lines(report: RunReport) -> list[str]:
    assert report.comparison is not None
    return [*(own.line for own in report.comparison.findings), *report.comparison.unreadable]


@cache
def evidence() -> tuple[Evidence, dict[str, Recounted]]:
    """The certificates and confidence bounds of the run, of which most tests change nothing; read once."""
    with TemporaryDirectory() as place:
        folder = write_run(Path(place))
        report = check_run(folder)
        drawn = {own.path.name: own for own in report.recounted}
        return gather(folder, report.outcomes, drawn), drawn


def refused(folder: Path, *wanted: str, code: int = 1, prove: bool = False) -> list[str]:
    """Check that the run is refused with a line that has all these words; all lines.

    Args:
        folder: of the run.
        *wanted: the words of one line.
        code: the exit code.
        prove: whether certificates or messages were changed, so that they must be looked at again.
    """
    report = check_run(folder, sample=QUICK) if prove else RunReport(folder, (), compare(folder, *evidence()))
    found = lines(report)
    assert report.exit_code == code, found
    assert any(all(word in line for word in wanted) for line in found), (wanted, found)
    assert "proved:" not in last_line(report).replace("NOT PROVED:", "")
    return found


def put(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    """The edit that sets one value of result.json, given the names on the way to it."""

    def edit(result: dict[str, Any]) -> None:
        *way, last = [int(name) if name.isdigit() else name for name in path.split(".")]
        own: Any = result
        for name in way:
            own = own[name]
        own[last] = value(own[last]) if callable(value) else value

    return edit
