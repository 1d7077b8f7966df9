"""Jobs in processes of this machine, by joblib."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from fedcert.app.grid.engines.protocol import Outcome, Work, attempt
from fedcert.app.grid.job import Job

MAX_DEATHS = 3  # of the process of a job that runs alone, after which the job is given up
DIED = (
    f"its process was killed {MAX_DEATHS} times: out of memory? Use fewer --jobs, then give the command again"
)


@dataclass(frozen=True)
class Processes:
    """So many jobs at a time, each in a process.

    A process that dies takes the others with it, and joblib cannot tell whose it was. The jobs that were
    under way are begun again when all others are done, each alone, so that only the guilty are given up.

    Attributes:
        count: the number of processes.
    """

    count: int

    def __call__(self, work: Work, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """The outcome of each job, as they come.

        Args:
            work: what to do with a job.
            jobs: what to do it with.
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
        """Outcomes, until a process dies; the jobs under way then. What was begun is taken from `left`."""
        under_way: dict[str, Job] = {}

        def tasks() -> Iterator[object]:
            while left:
                name = next(iter(left))
                under_way[name] = left.pop(name)
                yield delayed(attempt)(work, under_way[name])

        run = Parallel(self.count, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        try:
            for outcome in run(tasks()):
                del under_way[outcome.job.name]
                yield outcome
        except TerminatedWorkerError:
            return list(under_way.values())
        return []
