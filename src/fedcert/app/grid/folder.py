"""The folder of a grid: the results of its jobs, and the posteriors that they share."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fedcert import __version__
from fedcert.app.config import PLACE_SETTINGS
from fedcert.app.grid.job import Job
from fedcert.app.journal import Format, find_or_make
from fedcert.app.result import read_properties, read_summary
from fedcert.errors import CannotWrite, InvalidConfig, UnreadableFile
from fedcert.wire import atomic

T = TypeVar("T")
ERROR = "error.txt"
PARTS = JOBS, POSTERIORS = "jobs", "posteriors"


@dataclass(frozen=True)
class GridFolder:
    """The output folder of a grid: jobs/NAME holds the run of a job, posteriors/NAME its trained clients.

    Attributes:
        path: the path of the folder.
    """

    path: Path

    def begin(self, title: str, jobs: Sequence[Job]) -> None:
        """Make the folder, and write grid.json with the grid's title and jobs.

        Args:
            title: the title of the grid.
            jobs: the jobs that will be done in the folder.
        """
        for part in PARTS:
            try:
                (self.path / part).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise atomic.cannot_write(self.path / part, error) from error
        content = {"title": title, "jobs": [job.name for job in jobs]}
        atomic.write(self.path / "grid.json", json.dumps(content, indent=2) + "\n")

    def require(self) -> None:
        """Raise on a machine that cannot see the folder: its results would be lost."""
        if not (self.path / "grid.json").exists():
            raise InvalidConfig(
                f"{self.path}: not visible on this machine: --out must be a folder that all nodes share"
            )

    def job(self, job: Job) -> Path:
        """The folder of a job's run."""
        return self.path / JOBS / job.name

    def done(self, job: Job) -> bool:
        """Whether a job has its complete result, made by this version of fedcert."""
        try:
            summary = read_summary(self.job(job))
            read_properties(self.job(job), summary)
        except UnreadableFile:
            return False
        config = {key: value for key, value in summary["config"].items() if key not in PLACE_SETTINGS}
        return summary["fedcert"] == __version__ and config == job.identity

    def trained(self, job: Job) -> bool:
        """Whether all clients that a job needs are trained."""
        folder = self.path / POSTERIORS / job.training / "posteriors"
        return all((folder / f"client-{i}.safetensors").exists() for i in range(job.config.clients))

    def once(self, job: Job, name: str, make: Callable[[], T], form: Format[T]) -> T:
        """A part that jobs with the same training share: read if it exists, otherwise made and written."""
        return find_or_make(self.path / POSTERIORS / job.training / name, make, form)

    def note_failure(self, job: Job, error: str) -> None:
        """Write the full error of a job to its folder."""
        with suppress(CannotWrite):  # the error itself is shown anyway
            atomic.write(self.job(job) / ERROR, error)

    def forget_failure(self, job: Job) -> None:
        """Remove the error of an earlier attempt."""
        (self.job(job) / ERROR).unlink(missing_ok=True)
