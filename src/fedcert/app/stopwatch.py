"""Wall-clock times of stages and of single pieces of work."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from fedcert_check.progress import duration as duration

T = TypeVar("T")


class Stopwatch:
    """Adds up the seconds spent in named stages.

    Attributes:
        seconds: the total seconds of each stage, by name.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside the context to the stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def timed(make: Callable[[], T]) -> tuple[T, float]:
    """The result of a function, and the seconds that it took."""
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start
