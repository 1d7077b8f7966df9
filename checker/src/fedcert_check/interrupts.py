"""Ctrl-C while worker processes start."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C waits until the context ends; processes that start inside it leave it to this process for good.

    A terminal sends Ctrl-C to all of them, and each worker would print where it was interrupted.
    """
    if not hasattr(signal, "pthread_sigmask") or current_thread() is not main_thread():
        yield  # Windows; or a thread, which is never interrupted
        return
    waiting: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *received: waiting.append(received))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # what a new process inherits
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
    if waiting and callable(handler):
        handler(*waiting[0])
