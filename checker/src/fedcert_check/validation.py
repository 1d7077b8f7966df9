"""Values from a file, checked before they are used: types, shapes, ranges and names."""

import re
import sys
from typing import Any

import numpy as np

from fedcert_check.errors import InvalidCertificate

Array = np.ndarray[Any, np.dtype[Any]]
MAX_QUOTE_CHARACTERS = 80
CONTEXT = 20  # characters before the first difference of two texts
MAX_NATURAL = 2**31 - 1
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")  # names are shown to people


def quoted(value: object) -> str:
    """A value from a file as an error shows it: no longer than a line.

    >>> quoted("tanh")
    "'tanh'"
    """
    text = repr(value)
    return text if len(text) <= MAX_QUOTE_CHARACTERS else f"{text[:MAX_QUOTE_CHARACTERS]}…"


def differing(said: object, other: object) -> tuple[str, str]:
    """Two values from files as an error shows them, cut around the first place where they differ.

    >>> differing("a" * 200 + "b", "a" * 200 + "c") == (f"'…{'a' * 20}b'", f"'…{'a' * 20}c'")
    True
    >>> differing(1, "one")
    ('1', "'one'")
    """
    if not (isinstance(said, str) and isinstance(other, str)):
        return quoted(said), quoted(other)
    pairs = enumerate(zip(said, other, strict=False))
    same = next((i for i, (one, two) in pairs if one != two), min(len(said), len(other)))
    begin = same - CONTEXT if same > CONTEXT and max(len(said), len(other)) > MAX_QUOTE_CHARACTERS - 2 else 0
    return _part(said, begin), _part(other, begin)


def _part(text: str, begin: int) -> str:
    end = begin + MAX_QUOTE_CHARACTERS - 4
    return repr(f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}")


def require(condition: bool, complaint: str) -> None:
    """Raise `InvalidCertificate` unless the condition holds.

    Args:
        condition: what must hold.
        complaint: the message of the error.
    """
    if not condition:
        raise InvalidCertificate(complaint)


def require_fields(entry: Any, names: set[str], what: str) -> None:
    """Raise unless the entry is a JSON object with exactly these fields.

    Args:
        entry: any JSON value.
        names: of the fields.
        what: the entry describes, for the message.
    """
    require(isinstance(entry, dict), f"{what} is {quoted(entry)}, not a JSON object")
    require(set(entry) == names, f"{what} has the fields {quoted(sorted(entry))}, not {sorted(names)}")


def natural(value: Any, least: int, what: str) -> int:
    """The value, if it is an integer from `least` to `MAX_NATURAL`.

    Args:
        value: any JSON value.
        least: the smallest number that is allowed.
        what: the number counts, for the message.
    """
    require(type(value) is int and least <= value <= MAX_NATURAL, f"{what} is {quoted(value)}")
    return int(value)


def finite(value: Any, what: str) -> float:
    """The value, if it is a finite number.

    Args:
        value: any JSON value.
        what: the number is, for the message.
    """
    number = type(value) in (int, float) and abs(value) <= sys.float_info.max
    require(number, f"{what} is {quoted(value)}, not a finite number")
    return float(value)


def plain_name(value: Any, what: str) -> str:
    """The value, if it is a plain name: letters, digits and `._+-`, at most 64 characters.

    Args:
        value: any value.
        what: is named, for the message.
    """
    plain = isinstance(value, str) and PLAIN_NAME.fullmatch(value) is not None
    require(plain, f"{what} {quoted(value)} is not a plain name")
    return str(value)


def shaped(name: str, array: Array | None, dtype: Any, *shape: int | None) -> Array:
    """The array, if it has this type and shape and, if it holds floats, is finite.

    Args:
        name: of the tensor.
        array: the tensor, or None if there is none.
        dtype: its type.
        *shape: its length along each axis; None for any.
    """
    if array is None:
        raise InvalidCertificate(f"tensor {name} is missing")
    fits = len(array.shape) == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    require(
        array.dtype == dtype and fits,
        f"tensor {name} has type {array.dtype} and shape {array.shape}, not {np.dtype(dtype)} and"
        f" ({', '.join('any' if length is None else str(length) for length in shape)})",
    )
    require(array.dtype.kind != "f" or bool(np.isfinite(array).all()), f"tensor {name} is not finite")
    return array
