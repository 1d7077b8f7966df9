"""How many numbers to hold at a time: what a processor's cache holds, or what keeps another device busy."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import torch

T = TypeVar("T")

CACHED_ELEMENTS = 2**18
"""A tensor that stays in a processor's cache; memory that is new to a process costs more than arithmetic."""
DEVICE_ELEMENTS = 2**24
"""A tensor that keeps another device busy."""


def in_parts(count: int, each: int, device: torch.device) -> Iterator[slice]:
    """Slices of some problems, so small that a tensor of all that one slice holds is a convenient size.

    Args:
        count: the number of problems.
        each: the number of elements that one problem holds.
        device: where they are held.
    """
    most = CACHED_ELEMENTS if device.type == "cpu" else DEVICE_ELEMENTS
    size = max(1, most // max(1, each))
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def in_blocks(shape: tuple[int, int], each: int, device: torch.device) -> Iterator[tuple[slice, slice]]:
    """Slices of problems and of their rows, as `in_parts` makes them; rows are divided only within a problem.

    Args:
        shape: the numbers of problems and of rows.
        each: the number of elements that one row holds.
        device: where they are held.
    """
    problems, rows = shape
    for part in in_parts(problems, rows * each, device):
        for some in in_parts(rows, (part.stop - part.start) * each, device):
            yield part, some


def room(device: torch.device, held: int, most: int) -> int:
    """The number of elements of double precision that a tensor may have.

    Args:
        device: where it is held.
        held: how many such tensors are held at a time.
        most: the number on a processor, whose memory is not asked for.
    """
    if device.type != "cuda":
        return most
    free, _ = torch.cuda.mem_get_info(device)
    return max(most, free // (8 * held))


def on_parts(work: Callable[[slice], T], parts: Iterable[slice]) -> Iterator[tuple[slice, T]]:
    """The results of some work on slices; one for which the memory of a device does not suffice is halved.

    Args:
        work: on a slice.
        parts: the slices.
    """
    waiting = deque(parts)
    while waiting:
        part = waiting.popleft()
        try:
            result = work(part)
        except torch.OutOfMemoryError:
            middle = (part.start + part.stop) // 2
            if middle == part.start:
                raise
            waiting.extendleft([slice(middle, part.stop), slice(part.start, middle)])
        else:
            yield part, result
