"""Ctrl-C while worker processes start: it waits, and the workers never hear it."""

import os
import signal
import subprocess
import sys
from threading import Thread

import pytest

from fedcert_check.interrupts import deaf_to_interrupts

BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_waits_until_the_end() -> None:
    passed = []

    def start() -> None:
        with deaf_to_interrupts():
            interrupt()
            passed.append("the middle")
        passed.append("the end")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert passed == ["the middle"]


def test_an_interrupt_that_another_thread_receives_waits_too() -> None:
    """Libraries keep threads of their own, in which nothing is blocked, and any thread may be chosen."""
    passed = []

    def start() -> None:
        with deaf_to_interrupts():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            interrupt()
            passed.append("the middle")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert passed == ["the middle"]


def test_everything_is_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with deaf_to_interrupts():
        pass
    assert before == (signal.getsignal(signal.SIGINT), signal.pthread_sigmask(signal.SIG_BLOCK, []))
    with pytest.raises(KeyboardInterrupt):
        interrupt()


def test_a_process_that_starts_inside_stays_deaf_and_one_that_starts_later_does_not() -> None:
    def blocked() -> str:
        return subprocess.check_output([sys.executable, "-c", BLOCKED], encoding="utf-8").strip()

    with deaf_to_interrupts():
        assert blocked() == "True"
    assert blocked() == "False"


def test_a_thread_may_start_workers_too() -> None:
    entered = []

    def start() -> None:
        with deaf_to_interrupts():
            entered.append(True)

    thread = Thread(target=start)
    thread.start()
    thread.join()
    assert entered == [True]
