"""Small grids, and an engine that keeps everything in this process."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fedcert.app.engines import Outcome
from fedcert.app.engines.protocol import attempt
from fedcert.app.grid.job import Job

TINY = {
    "train_examples": 200,
    "test_examples": 60,
    "hidden": [4],
    "properties": 2,
    "epsilon": [0.001],
    "centers": 3,
    "gamma": [3],
    "mc_samples": 5,
    "attack_samples": 5,
    "aggregate_samples": 5,
    "clients": 2,
    "training": {"epochs": 1},
    "events": ["projected"],
    "compare": ["fedavg", "pog"],
}


def tiny(**settings: object) -> Job:
    """A job of a moment."""
    return Job.of({**TINY, **settings})


class Here:
    """Does jobs one after the other, in this process, and remembers them."""

    def workers(self) -> int:
        return 1

    def __init__(self) -> None:
        self.done: list[str] = []

    def __call__(self, work: Callable[[Job], None], jobs: Sequence[Job]) -> Iterator[Outcome[Job, None]]:
        for job in jobs:
            self.done.append(job.name)
            yield attempt(work, job)


class Recorder:
    """A display that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    @contextmanager
    def __call__(self, description: str, jobs: Sequence[Job], name: Callable[[Job], str]) -> Iterator[object]:
        yield lambda outcome: self.told.append((description, name(outcome.job)))
