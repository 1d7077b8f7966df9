"""The folder of a grid: results of jobs, and the posteriors that they share."""

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


@dataclass(frozen=True)
class GridFolder:
    """OUT: jobs/NAME is the run of a job, posteriors/NAME what its clients have learned.

    Attributes:
        path: OUT.
    """

    path: Path

    def begin(self, title: str, jobs: Sequence[Job]) -> None:
        """Make the folder and say what it is for.

        Args:
            title: of the grid.
            jobs: that will be done in it.
        """
        content = {"title": title, "jobs": [job.name for job in jobs]}
        atomic.write(self.path / "grid.json", json.dumps(content, indent=2) + "\n")

    def require(self) -> None:
        """Raise on a machine that cannot see the folder: what it wrote would be lost."""
        if not (self.path / "grid.json").exists():
            raise InvalidConfig(
                f"{self.path}: not to be seen here: --out must be a folder that all nodes share"
            )

    def job(self, job: Job) -> Path:
        """The run's folder of a job."""
        return self.path / "jobs" / job.name

    def done(self, job: Job) -> bool:
        """Whether a job has its whole result, made by this version of fedcert."""
        try:
            summary = read_summary(self.job(job))
            read_properties(self.job(job), summary)
        except UnreadableFile:
            return False
        config = {key: value for key, value in summary["config"].items() if key not in PLACE_SETTINGS}
        return summary["fedcert"] == __version__ and config == job.identity

    def trained(self, job: Job) -> bool:
        """Whether all clients that a job needs are trained."""
        folder = self.path / "posteriors" / job.training / "posteriors"
        return all((folder / f"client-{i}.safetensors").exists() for i in range(job.config.clients))

    def once(self, job: Job, name: str, make: Callable[[], T], form: Format[T]) -> T:
        """A part that jobs with the same training share: read where it is there, else made and written."""
        return find_or_make(self.path / "posteriors" / job.training / name, make, form)

    def note_failure(self, job: Job, error: str) -> None:
        """Keep the whole error of a job beside its result-to-be."""
        with suppress(CannotWrite):  # the error itself is shown anyway
            atomic.write(self.job(job) / ERROR, error)

    def forget_failure(self, job: Job) -> None:
        """Remove the error of an earlier attempt."""
        (self.job(job) / ERROR).unlink(missing_ok=True)
