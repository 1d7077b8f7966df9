"""Ctrl-C, sent to a command in a process of its own, as a terminal or a job scheduler sends it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

PATIENCE = 120.0  # seconds, for a machine with much else to do


class Ended(NamedTuple):
    """What was left of a process: its exit code, as a shell shows it, and its lines on standard error."""

    code: int
    lines: list[str]


def interrupted(
    command: list[str], ready: Callable[[], bool], cwd: Path, terminal: bool = True, pause: float = 0.0
) -> Ended:
    """Start Python with these arguments, and send it Ctrl-C when it is ready.

    Args:
        command: what follows `python`.
        ready: whether the work has begun.
        cwd: the folder to work in.
        terminal: whether the signal goes to all its processes, as from a terminal, or to the first alone.
        pause: seconds between ready and the signal.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,  # a group of its own: the tests themselves are not interrupted
    )
    try:
        end = time.monotonic() + PATIENCE
        while not ready() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(pause)
        (os.killpg if terminal else os.kill)(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    # Python 3.11 ends by the signal itself if the interrupt passed through exec("…"), as in some imports
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Ended(code, error.splitlines())
