"""Carrying out a grid: trains every federation once, then does the remaining jobs."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from operator import attrgetter
from typing import Protocol, runtime_checkable

from fedcert.app.engines import Engine, Outcome
from fedcert.app.grid.folder import GridFolder
from fedcert.app.grid.job import Job
from fedcert.app.grid.work import certify, train

JobOutcome = Outcome[Job, None]


@runtime_checkable
class Watcher(Protocol):
    """Is called with the outcome of each job."""

    def __call__(self, outcome: JobOutcome) -> None:
        """Show the outcome."""
        ...


@runtime_checkable
class Display(Protocol):
    """Shows the progress of jobs."""

    def __call__(
        self, description: str, jobs: Sequence[Job], name: Callable[[Job], str]
    ) -> AbstractContextManager[Watcher]:
        """A context, open while the jobs are done, which yields their watcher.

        Args:
            description: what is done with the jobs.
            jobs: all jobs to be watched.
            name: the name to show for a job.
        """
        ...


def carry_out_grid(
    jobs: Sequence[Job], folder: GridFolder, engine: Engine, display: Display, keep_certificates: bool = False
) -> list[JobOutcome]:
    """Do the remaining jobs of a grid; returns the outcomes of the jobs that failed.

    Nothing is done twice: a federation that is trained and a job that has its result are skipped, so that
    a grid that was killed resumes, and one with failures tries the failed jobs again.

    Args:
        jobs: the jobs of the grid.
        folder: the grid's folder, which holds the results.
        engine: does the jobs.
        display: shows the progress of the jobs.
        keep_certificates: whether each job keeps its messages and certificates.
    """
    left = [job for job in jobs if not folder.done(job)]
    untrained = {job.training: job for job in left if not folder.trained(job)}
    with display("training federations", list(untrained.values()), attrgetter("training")) as watch:
        _do(partial(train, folder), list(untrained.values()), engine, watch)
    with display("certifying", left, attrgetter("name")) as watch:
        certified = _do(partial(certify, folder, keep_certificates), left, engine, watch)
    failed = [outcome for outcome in certified if outcome.error is not None]
    for outcome in certified:
        if outcome.error is None:
            folder.forget_failure(outcome.job)
        else:
            folder.note_failure(outcome.job, outcome.error)
    return failed


def _do(work: Callable[[Job], None], jobs: Sequence[Job], engine: Engine, watch: Watcher) -> list[JobOutcome]:
    """The outcomes of the jobs; the longest jobs start first, since one that starts last delays the end."""
    outcomes = []
    for outcome in engine(work, sorted(jobs, key=lambda job: -job.effort)) if jobs else ():
        watch(outcome)
        outcomes.append(outcome)
    return outcomes
