"""The interface of engines, which do jobs, and the outcome of a job."""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fedcert.app.grid.job import Job
from fedcert.errors import FedcertError

Work = Callable[[Job], None]


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    Attributes:
        job: the job.
        seconds: how long the job took, in seconds.
        error: what went wrong; None if nothing did.
    """

    job: Job
    seconds: float
    error: str | None = None


@runtime_checkable
class Engine(Protocol):
    """Does jobs, in any order, possibly several at the same time."""

    def __call__(self, work: Work, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """The outcome of each job, in the order in which they finish.

        Args:
            work: what to do with a job; it can be pickled, so that it can be done in another process.
            jobs: the jobs to do.
        """
        ...


def attempt(work: Work, job: Job) -> Outcome:
    """Do a job. An exception becomes part of its outcome, so that the other jobs continue.

    Args:
        work: what to do with the job.
        job: the job to do.
    """
    start = time.perf_counter()
    try:
        work(job)
    except FedcertError as error:
        return Outcome(job, time.perf_counter() - start, str(error))
    except Exception:  # noqa: BLE001 - the full traceback is kept and shown at the end
        return Outcome(job, time.perf_counter() - start, traceback.format_exc())
    return Outcome(job, time.perf_counter() - start)
