"""Jobs in this process, one after the other."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fedcert.app.engines.protocol import J, Outcome, T


@dataclass(frozen=True)
class Here:
    """Does jobs one after the other, in this process; an exception ends them all."""

    def workers(self) -> int:
        """This process alone."""
        return 1

    def __call__(self, work: Callable[[J], T], jobs: Sequence[J]) -> Iterator[Outcome[J, T]]:
        """The outcome of each job, in their order.

        Args:
            work: what to do with a job.
            jobs: the jobs to do.
        """
        for job in jobs:
            start = time.perf_counter()
            result = work(job)
            yield Outcome(job, time.perf_counter() - start, None, result)
