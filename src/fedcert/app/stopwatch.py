"""Wall-clock times of stages and of single pieces of work."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Stopwatch:
    """Adds up the seconds spent in named stages.

    Attributes:
        seconds: by stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the time spent inside to the stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def timed(make: Callable[[], T]) -> tuple[T, float]:
    """What is made, with the seconds it took."""
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start
