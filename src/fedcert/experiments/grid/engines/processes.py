"""Jobs in processes of this machine, by joblib."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from fedcert.experiments.grid.engines.protocol import Outcome, Work, attempt
from fedcert.experiments.grid.job import Job

DEATHS = 3  # of a process under a job, after which the job is given up
DIED = f"its process was killed {DEATHS} times: out of memory? Use fewer --jobs, then give the command again"


@dataclass(frozen=True)
class Processes:
    """So many jobs at a time, each in a process.

    A process that dies takes the others with it (joblib cannot tell what it has lost); the jobs that were
    under way are begun again, behind the rest.

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
        deaths: Counter[str] = Counter()
        while left:
            begun: list[str] = []

            def tasks(begun: list[str] = begun) -> Iterator[object]:
                for name, job in list(left.items()):
                    begun.append(name)
                    yield delayed(attempt)(work, job)

            run = Parallel(self.count, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
            try:
                for outcome in run(tasks()):
                    del left[outcome.job.name]
                    yield outcome
            except TerminatedWorkerError:
                for name in [name for name in begun if name in left]:
                    deaths[name] += 1
                    job = left.pop(name)
                    if deaths[name] < DEATHS:
                        left[name] = job
                    else:
                        yield Outcome(job, 0.0, DIED)
