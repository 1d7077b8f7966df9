"""A grid from its jobs to its results: trains every federation once, then does the jobs that are left."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from operator import attrgetter
from typing import Protocol, runtime_checkable

from fedcert.app.grid.engines import Engine, Outcome, Work
from fedcert.app.grid.folder import GridFolder
from fedcert.app.grid.job import Job
from fedcert.app.grid.work import certify, train


@runtime_checkable
class Watcher(Protocol):
    """Is told how each job ended."""

    def __call__(self, outcome: Outcome) -> None:
        """Show it."""
        ...


@runtime_checkable
class Display(Protocol):
    """Shows how far some jobs have come."""

    def __call__(
        self, description: str, jobs: Sequence[Job], name: Callable[[Job], str]
    ) -> AbstractContextManager[Watcher]:
        """Watch jobs: open while they are done.

        Args:
            description: what is done with them.
            jobs: all of them.
            name: what to call one.
        """
        ...


def carry_out_grid(
    jobs: Sequence[Job], folder: GridFolder, engine: Engine, display: Display, keep_certificates: bool = False
) -> list[Outcome]:
    """Do what is left of a grid; the outcomes of jobs that failed.

    Nothing is done twice: a federation that is trained and a job that has its result are left alone, so
    that a grid that was killed resumes, and one with failures tries these again.

    Args:
        jobs: of the grid.
        folder: where results are, and will be.
        engine: does the jobs.
        display: shows how far they have come.
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


def _do(work: Work, jobs: Sequence[Job], engine: Engine, watch: Watcher) -> list[Outcome]:
    """The outcomes of some work, the longest first: it should not begin when all else is done."""
    outcomes = []
    for outcome in engine(work, sorted(jobs, key=lambda job: -job.effort)) if jobs else ():
        watch(outcome)
        outcomes.append(outcome)
    return outcomes
