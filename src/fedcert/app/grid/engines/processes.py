"""Jobs in processes on this machine, using joblib."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from fedcert.app.grid.engines.protocol import Outcome, Work, attempt
from fedcert.app.grid.job import Job
from fedcert_check.interrupts import deaf_to_interrupts

MAX_DEATHS = 3  # a job that runs alone is given up after its process has died this many times
DIED = f"its process was killed {MAX_DEATHS} times: out of memory? Use fewer --jobs, then repeat the command"


@dataclass(frozen=True)
class Processes:
    """A fixed number of jobs at a time, each in its own process.

    A process that dies takes the others with it, and joblib cannot tell which one it was. The jobs that were
    running are restarted when all others are done, one at a time, so that only the job at fault is given up.

    Attributes:
        count: the number of processes.
    """

    count: int

    def __call__(self, work: Work, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """The outcome of each job, in the order in which they finish.

        Args:
            work: what to do with a job.
            jobs: the jobs to do.
        """
        left = {job.name: job for job in jobs}
        suspects: list[Job] = []
        while left:
            suspects += yield from self._until_one_dies(work, left)
        for job in suspects:
            yield from self._alone(work, job)

    def _alone(self, work: Work, job: Job) -> Iterator[Outcome]:
        for _ in range(MAX_DEATHS):
            if not (yield from self._until_one_dies(work, {job.name: job})):
                return
        yield Outcome(job, 0.0, DIED)

    def _until_one_dies(self, work: Work, left: dict[str, Job]) -> Generator[Outcome, None, list[Job]]:
        """Yield outcomes until a process dies; return the jobs then running. Started jobs leave `left`."""
        under_way: dict[str, Job] = {}

        def tasks() -> Iterator[object]:
            while left:
                name = next(iter(left))
                under_way[name] = left.pop(name)
                yield delayed(attempt)(work, under_way[name])

        run = Parallel(self.count, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        try:
            with deaf_to_interrupts():  # the workers: this process ends them
                outcomes = run(tasks())
            for outcome in outcomes:
                del under_way[outcome.job.name]
                yield outcome
        except TerminatedWorkerError:
            return list(under_way.values())
        return []
