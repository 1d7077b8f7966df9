"""Frozen data with other values that need no check."""

from copy import copy
from typing import Any, TypeVar

T = TypeVar("T")


def unchecked(instance: T, **changes: Any) -> T:
    """A copy of a frozen dataclass in which some fields have other values, without its checks.

    For values that pass them because those of the instance did, where to check again is dear.

    Args:
        instance: the original.
        changes: the new values, by field.
    """
    changed = copy(instance)
    for field, value in changes.items():
        object.__setattr__(changed, field, value)
    return changed
