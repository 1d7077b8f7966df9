"""Numbers as users have them, as the double-precision tensors that proofs are made of."""

import reprlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedcert.errors import ShapeMismatch

Numbers = Any
"""A tensor, a numpy array, or lists of numbers."""
EXACT_AS_DOUBLE = {torch.float64, torch.float32, torch.float16, torch.bfloat16}
LARGEST_EXACT_INTEGER = 2**53


def as_double(what: str, numbers: Numbers) -> Tensor:
    """The same real numbers as a detached tensor of double precision; what would be rounded raises.

    Args:
        what: what the numbers are, for the error.
        numbers: a tensor, a numpy array, or lists of numbers.

    >>> as_double("weights", np.array([0.5, 1.0], dtype=np.float32))
    tensor([0.5000, 1.0000], dtype=torch.float64)
    """
    tensor = _tensor(what, numbers)
    if tensor.dtype in EXACT_AS_DOUBLE:
        return tensor.double()
    if _is_whole(tensor) and bool((_signed(what, tensor).abs() <= LARGEST_EXACT_INTEGER).all()):
        return tensor.double()
    raise ShapeMismatch(f"{what}: {tensor.dtype} has no exact value in double precision: convert it first")


def as_whole(what: str, numbers: Numbers) -> Tensor:
    """The same whole numbers as a tensor of 64-bit integers; numbers of any other type raise.

    Args:
        what: what the numbers are, for the error.
        numbers: a tensor, a numpy array, or lists of numbers.

    >>> as_whole("labels", [3, 1])
    tensor([3, 1])
    """
    tensor = _tensor(what, numbers)
    if not _is_whole(tensor):
        raise ShapeMismatch(f"{what} must be integers, not {tensor.dtype}")
    return _signed(what, tensor)


def _signed(what: str, tensor: Tensor) -> Tensor:
    """Whole numbers as 64-bit integers; one that does not fit raises, since torch would wrap it around."""
    signed = tensor.long()
    if tensor.dtype == torch.uint64 and bool((signed < 0).any()):
        raise ShapeMismatch(f"{what}: an integer of 2^63 or more")
    return signed


def _tensor(what: str, numbers: Numbers) -> Tensor:
    """Numbers of any type as a detached tensor."""
    if isinstance(numbers, Tensor):
        if numbers.layout != torch.strided or numbers.is_meta:
            raise ShapeMismatch(f"{what}: a sparse tensor, or one without numbers: make it dense first")
        return numbers.detach()
    if isinstance(numbers, np.ma.MaskedArray):
        raise ShapeMismatch(
            f"{what}: an array with a mask, which would be lost: fill the missing values first"
        )
    try:
        return torch.from_numpy(np.array(numbers))
    except (TypeError, ValueError) as error:  # no numbers; rows of different lengths
        kind = "numbers in rows of one length" if isinstance(numbers, list | tuple) else "a number"
        raise ShapeMismatch(f"{what} must be {kind}, not {reprlib.repr(numbers)}") from error


def _is_whole(tensor: Tensor) -> bool:
    return not (tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool)


def doubled(instance: object, what: str, *fields: str) -> None:
    """Replace fields of a frozen dataclass that is being made by the same numbers in double precision.

    Args:
        instance: the dataclass.
        what: what the numbers are, for the error.
        fields: those that hold numbers; None is left alone.
    """
    for field in fields:
        value = getattr(instance, field)
        if value is not None and not _is_ready(value):
            object.__setattr__(instance, field, as_double(what, value))


def _is_ready(value: object) -> bool:
    return isinstance(value, Tensor) and value.dtype == torch.float64 and not value.requires_grad
