"""Progress: long loops run through a tracker, which may draw a bar, print lines, or do nothing."""

from collections.abc import Iterable
from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class Tracker(Protocol):
    """Passes the items of a long loop on and may show how far the loop has come."""

    def __call__(self, items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
        """The same items, watched."""
        ...


def silent(items: Iterable[T], description: str, total: int | None = None) -> Iterable[T]:
    """The same items; nothing is shown."""
    return items


def duration(seconds: float) -> str:
    """Seconds as readable text.

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
