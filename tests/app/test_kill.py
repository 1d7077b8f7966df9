"""SIGKILL at random moments: a run goes on where it stopped and ends with the same result."""

import multiprocessing
import os
import random
import signal
import time
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

import pytest
from folders import tree
from small_runs import SMALL_RUN, as_toml, untimed

from fedcert.app import cli
from fedcert.app.result import read_summary

KILLS = 21
CONFIG = as_toml(SMALL_RUN | {"train_examples": 300, "test_examples": 60, "clients": 3, "scale": 1e-4})


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Processes of their own, which need not import torch again."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fedcert.app.serve", "fedcert.training.bayes_by_backprop"])
    return context


def start(context: ForkServerContext, folder: Path) -> ForkServerProcess:
    """`fedcert run` in a process."""
    process = context.Process(target=cli.run, kwargs={"config": folder.parent / "tiny.toml", "out": folder})
    process.start()
    return process


def finished(folder: Path) -> bool:
    """Whether the run is done: a process may be killed when all that is left to it is to say so."""
    return (folder / "result.json").exists() and not {"complete", "unfinished"} & set(os.listdir(folder))


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder; those that hold times by their names alone."""
    timed = ("result.json", "report.html")
    return {name: None if name in timed else content for name, content in tree(folder).items()}


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
        assert untimed(read_summary(folder)) == untimed(read_summary(tmp_path / "undisturbed"))
        assert contents(folder) == contents(tmp_path / "undisturbed")
        runs += 1
