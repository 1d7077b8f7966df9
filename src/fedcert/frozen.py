"""Frozen data with other values that need no check, some rows of it, and other rows in their place."""

from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from torch import Tensor

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


def rows_of(value: T, index: Any) -> T:
    """Some rows of every tensor in frozen data, however deep; all tensors have a row for each property.

    Args:
        value: a tensor, a tuple or a frozen dataclass of such values.
        index: which rows.
    """
    if isinstance(value, Tensor):
        return value[index]  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(rows_of(own, index) for own in value)  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        return unchecked(value, **{f.name: rows_of(getattr(value, f.name), index) for f in fields(value)})
    return value


def with_rows(value: T, index: Any, other: T) -> T:
    """Frozen data as `rows_of` takes it, with other rows in the place of some.

    Args:
        value: a tensor, a tuple or a frozen dataclass of such values.
        index: which rows are replaced.
        other: data of the same form, with these rows alone.
    """
    if isinstance(value, Tensor):
        changed = value.clone()
        changed[index] = other  # type: ignore[assignment]
        return changed  # type: ignore[return-value]
    if isinstance(value, tuple) and isinstance(other, tuple):
        pairs = zip(value, other, strict=True)
        return tuple(with_rows(own, index, theirs) for own, theirs in pairs)  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        changes = {
            f.name: with_rows(getattr(value, f.name), index, getattr(other, f.name)) for f in fields(value)
        }
        return unchecked(value, **changes)
    return value
