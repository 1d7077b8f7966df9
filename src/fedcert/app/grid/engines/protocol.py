"""What an engine does with jobs, and what becomes of a job."""

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
        seconds: it took.
        error: what went wrong; None where nothing did.
    """

    job: Job
    seconds: float
    error: str | None = None


@runtime_checkable
class Engine(Protocol):
    """Does jobs, in any order and at the same time."""

    def __call__(self, work: Work, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """The outcome of each job, as they come.

        Args:
            work: what to do with a job; it can be pickled, and so can be done elsewhere.
            jobs: what to do it with.
        """
        ...


def attempt(work: Work, job: Job) -> Outcome:
    """Do a job. Whatever it raises is its outcome: the other jobs go on.

    Args:
        work: what to do.
        job: with which job.
    """
    start = time.perf_counter()
    try:
        work(job)
    except FedcertError as error:
        return Outcome(job, time.perf_counter() - start, str(error))
    except Exception:  # noqa: BLE001 - it is kept whole and shown at the end
        return Outcome(job, time.perf_counter() - start, traceback.format_exc())
    return Outcome(job, time.perf_counter() - start)
