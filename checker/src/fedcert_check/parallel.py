"""Work in pieces: one after the other, in processes of their own, or wherever a caller has workers."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from multiprocessing import active_children, get_context
from multiprocessing.synchronize import Event
from typing import Any, Protocol, TypeVar, runtime_checkable

from flint import ctx

from fedcert_check.balls import PRECISION
from fedcert_check.document import Document
from fedcert_check.errors import FedcertError
from fedcert_check.interrupts import deaf_to_interrupts
from fedcert_check.progress import Tracker

T = TypeVar("T")
U = TypeVar("U")
PIECES_PER_PROCESS = 8  # of the properties: progress shows, and the last process has little left to do
ONE_THREAD = "OPENBLAS_NUM_THREADS"  # each process computes in one: there are as many of them as cores


@runtime_checkable
class Workers(Protocol):
    """Workers elsewhere, such as a cluster, to which a caller can send the pieces of proofs."""

    def __call__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterable[tuple[int, Any]]:
        """The place of each item and the function of it, in the order in which they are done.

        Args:
            function: can be pickled, like the items and the results.
            items: what it is applied to.
        """
        ...


_elsewhere: ContextVar[Workers | None] = ContextVar("workers elsewhere", default=None)


@contextmanager
def proving_on(workers: Workers | None) -> Iterator[None]:
    """Work in several pieces is sent to these workers while the context is open.

    Args:
        workers: instead of processes on this machine; None for these.
    """
    before = _elsewhere.set(workers)
    try:
        yield
    finally:
        _elsewhere.reset(before)


def mapped(
    function: Callable[[T], U], items: Sequence[T], jobs: int, track: Tracker, description: str
) -> list[U]:
    """The function of each item, in order, at the checker's precision.

    The processes are started afresh, since a fork would copy locks that other threads hold. Each is sent the
    function once, with all that it refers to, and then one item at a time.

    Args:
        function: can be pickled, like the items and the results.
        items: what it is applied to.
        jobs: number of processes; 1 for this one alone.
        track: shows progress.
        description: of the work.
    """
    if jobs == 1 or len(items) == 1:
        return [_precisely(function, item) for item in track(items, description, len(items))]
    if (workers := _elsewhere.get()) is not None:
        return _on(workers, function, items, track, description)
    return _in_processes(function, items, jobs, track, description)


def _on(
    workers: Workers, function: Callable[[T], U], items: Sequence[T], track: Tracker, description: str
) -> list[U]:
    """The function of each item, by workers elsewhere; what one of them refuses is refused here."""
    found = dict(track(workers(partial(_attempt, function), items), description, len(items)))
    for result in found.values():
        if isinstance(result, FedcertError):
            raise result
    return [found[place] for place in range(len(items))]


def _attempt(function: Callable[[T], U], item: T) -> U | FedcertError:
    try:
        return _precisely(function, item)
    except FedcertError as error:
        return error


def _in_processes(
    function: Callable[[T], U], items: Sequence[T], jobs: int, track: Tracker, description: str
) -> list[U]:
    context = get_context("spawn")
    started = context.Event()
    workers = ProcessPoolExecutor(min(jobs, len(items)), context, _begin, (function, started))
    others = set(active_children())
    with workers:
        try:
            with deaf_to_interrupts(), _environment(ONE_THREAD, "1"):
                futures = [workers.submit(_apply, item) for item in items]
            results = (future.result() for future in futures)
            return list(track(results, description, len(items)))
        except KeyboardInterrupt:
            for worker in set(active_children()) - others:
                worker.kill()  # or it would first finish its piece of the work
            raise
        except BrokenProcessPool as error:
            if not started.is_set():
                raise ChildProcessError(
                    "no worker process could start: a script that asks for several processes must do so below"
                    " `if __name__ == '__main__':`"
                ) from error
            raise MemoryError("the system ended a worker process, most often for lack of memory") from error
        except Exception:
            workers.shutdown(cancel_futures=True)
            raise


def over_properties(
    prove: Callable[[Sequence[int]], Sequence[U]],
    document: Document,
    jobs: int,
    track: Tracker,
) -> list[U]:
    """What `prove` finds for each property that is asked for, given some of them at a time.

    Args:
        prove: takes the indices of some properties and returns one result for each.
        document: whose properties, and which of them.
        jobs: number of processes.
        track: shows progress.
    """
    asked = document.asked
    parts = [asked[piece.start : piece.stop] for piece in pieces(len(asked), jobs)]
    found = mapped(prove, parts, jobs, track, "proving properties")
    return [result for piece in found for result in piece]


def pieces(count: int, jobs: int) -> list[range]:
    """The indices of all properties, in ranges of about equal length."""
    size = max(1, -(-count // (PIECES_PER_PROCESS * jobs)))
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """A variable that processes started in the context find set, unless the user has set it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


class _Worker:
    """What this process applies to each item, if it is a worker."""

    function: Callable[[Any], Any]


def _begin(function: Callable[[Any], Any], started: Event) -> None:
    _Worker.function = function
    started.set()


def _apply(item: Any) -> Any:
    return _precisely(_Worker.function, item)


def _precisely(function: Callable[[T], U], item: T) -> U:
    with ctx.workprec(PRECISION):
        return function(item)
