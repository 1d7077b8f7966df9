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


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0.31), duration(75.0), duration(3000.0), duration(4000.0)
    ('0.3 s', '1 min 15 s', '50 min', '1 h 07 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 10:
        return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
