"""Jobs in processes; what a test sends to them is defined inside it, so that they need not import it."""

import os
import signal
from pathlib import Path

import pytest
from small_grids import tiny

from fedcert.app.engines import Processes
from fedcert.app.engines.processes import DIED
from fedcert.app.grid.job import Job

JOBS = [tiny(seed=seed) for seed in range(6)]


@pytest.mark.slow
def test_a_job_that_fails_leaves_the_others_alone(tmp_path: Path) -> None:
    def work(job: Job) -> None:
        if job.config.seed == 2:
            raise RuntimeError("surprise")
        (tmp_path / str(job.config.seed)).touch()

    outcomes = list(Processes(2)(work, JOBS))
    assert [outcome.job.config.seed for outcome in outcomes if outcome.error is not None] == [2]
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "3", "4", "5"]


@pytest.mark.slow
def test_a_job_whose_process_is_killed_is_begun_again(tmp_path: Path) -> None:
    def work(job: Job) -> None:
        seed = job.config.seed
        if seed == 1 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        (tmp_path / str(seed)).touch()

    outcomes = list(Processes(2)(work, JOBS))
    assert sorted(outcome.job.config.seed for outcome in outcomes) == list(range(6))
    assert all(outcome.error is None for outcome in outcomes)
    assert {str(seed) for seed in range(6)} < set(os.listdir(tmp_path))


@pytest.mark.slow
def test_a_job_that_always_dies_is_given_up_and_the_others_are_done() -> None:
    def work(job: Job) -> None:
        if job.config.seed == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    outcomes = {outcome.job.config.seed: outcome.error for outcome in Processes(2)(work, JOBS)}
    assert outcomes == {0: DIED, **dict.fromkeys(range(1, 6))}
