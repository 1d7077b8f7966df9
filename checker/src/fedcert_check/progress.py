"""Progress: long loops run through a tracker, which may draw a bar or do nothing."""

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
