"""The interface of engines, which do jobs, and the outcome of a job."""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import torch

from fedcert.errors import FedcertError

J = TypeVar("J")
T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[J, T]):
    """How a job ended.

    Attributes:
        job: the job.
        seconds: how long the job took, in seconds.
        error: what went wrong; None if nothing did.
        result: what the work returned; None if something went wrong.
    """

    job: J
    seconds: float
    error: str | None = None
    result: T | None = None


@runtime_checkable
class Engine(Protocol):
    """Does jobs, in any order, possibly several at the same time."""

    def workers(self) -> int:
        """The number of jobs that can be done at the same time."""
        ...

    def __call__(self, work: Callable[[J], T], jobs: Sequence[J]) -> Iterator[Outcome[J, T]]:
        """The outcome of each job, in the order in which they finish.

        Args:
            work: what to do with a job; it, jobs and results can be pickled, for work in another process.
            jobs: the jobs to do.
        """
        ...


def attempt(work: Callable[[J], T], job: J) -> Outcome[J, T]:
    """Do a job. An exception becomes part of its outcome, so that the other jobs continue.

    Args:
        work: what to do with the job.
        job: the job to do.
    """
    start = time.perf_counter()
    try:
        result = work(job)
    except FedcertError as error:
        return Outcome(job, time.perf_counter() - start, str(error))
    except Exception:  # noqa: BLE001 - the full traceback is kept and shown at the end
        return Outcome(job, time.perf_counter() - start, traceback.format_exc())
    return Outcome(job, time.perf_counter() - start, None, result)


def attempt_in_one_thread(work: Callable[[J], T], job: J) -> Outcome[J, T]:
    """The same in a process of its own: its numbers do not depend on how many jobs run at the same time.

    Args:
        work: what to do with the job.
        job: the job to do.
    """
    torch.set_num_threads(1)
    return attempt(work, job)
