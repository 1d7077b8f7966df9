"""Jobs in processes on this machine, using joblib."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joblib import Parallel, delayed
from joblib.externals.loky.backend.reduction import dumps, loads
from joblib.externals.loky.process_executor import TerminatedWorkerError

from fedcert.app.engines.protocol import J, Outcome, T, attempt_in_one_thread
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

    def workers(self) -> int:
        """The number of processes."""
        return self.count

    def __call__(self, work: Callable[[J], T], jobs: Sequence[J]) -> Iterator[Outcome[J, T]]:
        """The outcome of each job, in the order in which they finish.

        Args:
            work: what to do with a job.
            jobs: the jobs to do.
        """
        left = dict(enumerate(jobs))
        suspects: dict[int, J] = {}
        with _sent(work) as begin:
            while left:
                suspects |= yield from self._until_one_dies(begin, left)
            for number, job in suspects.items():
                yield from self._alone(begin, number, job)

    def _alone(self, begin: "_Begin", number: int, job: J) -> Iterator[Outcome[J, Any]]:
        for _ in range(MAX_DEATHS):
            if not (yield from self._until_one_dies(begin, {number: job})):
                return
        yield Outcome(job, 0.0, DIED)

    def _until_one_dies(
        self, begin: "_Begin", left: dict[int, J]
    ) -> Generator[Outcome[J, Any], None, dict[int, J]]:
        """Yield outcomes until a process dies; return the jobs then running. Started jobs leave `left`."""
        under_way: dict[int, J] = {}

        def tasks() -> Iterator[object]:
            while left:
                number = next(iter(left))
                under_way[number] = left.pop(number)
                yield delayed(begin)(number, under_way[number])

        run = Parallel(self.count, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        try:
            with deaf_to_interrupts():  # the workers: this process ends them
                outcomes = run(tasks())
            for number, outcome in outcomes:
                del under_way[number]
                yield outcome
        except TerminatedWorkerError:
            return under_way
        return {}


_Begin = Callable[[int, Any], tuple[int, Outcome[Any, Any]]]


@contextmanager
def _sent(work: Callable[[Any], Any]) -> Iterator[_Begin]:
    """What does one numbered job. The work is written once, and read once by each process."""
    with TemporaryDirectory(prefix="fedcert-") as folder:
        path = Path(folder) / "work"
        path.write_bytes(dumps(work))
        yield partial(_do, path)


def _do(path: Path, number: int, job: Any) -> tuple[int, Outcome[Any, Any]]:
    return number, attempt_in_one_thread(_received(path), job)


@lru_cache(maxsize=1)
def _received(path: Path) -> Callable[[Any], Any]:
    return loads(path.read_bytes())  # type: ignore[no-any-return]
