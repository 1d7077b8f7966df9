"""SIGKILL at random moments: a run goes on where it stopped and ends with the same result."""

import json
import multiprocessing
import os
import random
import signal
import time
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from fedcert.app import cli

KILLS = 21
CONFIG = """
train-examples = 300
test-examples = 60
hidden = [6]
scale = 1e-4
properties = 3
gamma = [3, 5]
centers = 4
cells = 2
mc-samples = 10
attack-samples = 10
aggregate-samples = 10
[training]
epochs = 3
batch_size = 64
learning_rate = 0.03
"""


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Processes of their own, which need not import torch again."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fedcert.app.serve", "sklearn.datasets", "torch._dynamo"])
    return context


def start(context: ForkServerContext, folder: Path) -> ForkServerProcess:
    """`fedcert run` in a process."""
    process = context.Process(target=cli.run, kwargs={"config": folder.parent / "tiny.toml", "out": folder})
    process.start()
    return process


def finished(folder: Path) -> bool:
    """Whether the run is done: a process may be killed when all that is left to it is to say so."""
    return (folder / "result.json").exists() and not {"complete", "unfinished"} & set(os.listdir(folder))


def untimed(folder: Path) -> dict[str, Any]:
    summary = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return summary | {"timings": None, "summary": [row | {"seconds": None} for row in summary["summary"]]}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and folder; those that hold times by their names alone."""
    timed = ("result.json", "report.html")
    return {
        (name := str(path.relative_to(folder))): b""
        if path.is_dir() or name.startswith(timed)
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_like_an_undisturbed_one(
    tmp_path: Path, context: ForkServerContext
) -> None:
    (tmp_path / "tiny.toml").write_text(CONFIG, encoding="utf-8")
    for name in ("warm-up", "undisturbed"):
        began = time.monotonic()
        undisturbed = start(context, tmp_path / name)
        undisturbed.join()
        life = time.monotonic() - began
        assert undisturbed.exitcode == 0
    moments = random.Random(0)
    kills = runs = 0
    while kills < KILLS:
        folder = tmp_path / f"killed-{runs}"
        while not finished(folder):
            process = start(context, folder)
            process.join(life * moments.uniform(0.05, 0.75))
            process.kill()  # SIGKILL
            process.join()
            assert process.exitcode in (0, -signal.SIGKILL)
            kills += process.exitcode == -signal.SIGKILL
        assert untimed(folder) == untimed(tmp_path / "undisturbed")
        assert contents(folder) == contents(tmp_path / "undisturbed")
        runs += 1
