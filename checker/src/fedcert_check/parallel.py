"""Work in pieces: one after the other, or in processes of their own."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from flint import ctx
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from fedcert_check.balls import PRECISION
from fedcert_check.document import Document
from fedcert_check.progress import Tracker

T = TypeVar("T")
U = TypeVar("U")
PIECES = 4  # of the properties, for each process


def mapped(
    function: Callable[[T], U], items: Sequence[T], jobs: int, track: Tracker, description: str
) -> list[U]:
    """The function of each item, at the checker's precision.

    Args:
        function: what a process can be sent.
        items: what it is applied to.
        jobs: how many processes; 1 for none but this one.
        track: shows progress.
        description: of the work.
    """
    if jobs == 1 or len(items) == 1:
        return [_precisely(function, item) for item in track(items, description, len(items))]
    results = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_precisely)(function, item) for item in items
    )
    try:
        return list(track(results, description, len(items)))
    except TerminatedWorkerError as error:
        raise MemoryError("the system ended a process, most often for want of memory") from error


def over_properties(
    prove: Callable[[Sequence[int]], Sequence[U]],
    document: Document,
    jobs: int,
    track: Tracker,
) -> list[U]:
    """What `prove` finds out of each property, given some of them at a time.

    Args:
        prove: takes the numbers of some properties and returns one result for each.
        document: whose properties.
        jobs: how many processes.
        track: shows progress.
    """
    found = mapped(prove, pieces(len(document.properties), jobs), jobs, track, "proving properties")
    return [result for piece in found for result in piece]


def pieces(count: int, jobs: int) -> list[range]:
    """So many properties, some at a time."""
    size = max(1, -(-count // (PIECES * jobs)))
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def _precisely(function: Callable[[T], U], item: T) -> U:
    with ctx.workprec(PRECISION):
        return function(item)
