"""A real Ray cluster on this machine: two workers, one of them killed at work."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_grids import tiny

from fedcert.app.engines import RayCluster
from fedcert.app.engines import ray as engine_module
from fedcert.app.grid.job import Job
from fedcert.errors import InvalidConfig

ray = pytest.importorskip("ray", reason="needs the extra fedcert[ray]")
JOBS = [tiny(seed=seed) for seed in range(6)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """A cluster of two workers that runs on its own, which tests find by its address."""
    port = free_port()
    program = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--num-cpus=2"]
    options = [f"--port={port}", "--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    head = subprocess.Popen([*program, *options], env=environment, start_new_session=True, **silent)
    try:
        yield RayCluster(f"127.0.0.1:{port}")
    finally:
        ray.shutdown()
        os.killpg(head.pid, signal.SIGKILL)
        head.wait(timeout=60)


@pytest.mark.slow
def test_jobs_run_in_two_workers_and_one_that_fails_leaves_the_others_alone(
    cluster: RayCluster, tmp_path: Path
) -> None:
    def work(job: Job) -> None:
        (tmp_path / str(os.getpid())).touch()
        time.sleep(0.3)
        if job.config.seed == 2:
            raise RuntimeError("surprise")

    outcomes = {outcome.job.config.seed: outcome.error for outcome in cluster(work, JOBS)}
    assert [seed for seed, error in outcomes.items() if error is not None] == [2]
    assert len(outcomes) == 6
    assert len(os.listdir(tmp_path)) >= 2
    assert str(os.getpid()) not in os.listdir(tmp_path)


@pytest.mark.slow
def test_a_job_whose_worker_is_killed_is_begun_again(cluster: RayCluster, tmp_path: Path) -> None:
    def work(job: Job) -> None:
        if job.config.seed == 1 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        (tmp_path / str(job.config.seed)).touch()

    assert all(outcome.error is None for outcome in cluster(work, JOBS))
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "2", "3", "4", "5", "killed"]


@pytest.mark.slow
def test_a_job_that_always_kills_its_worker_is_reported(cluster: RayCluster) -> None:
    def work(job: Job) -> None:
        if job.config.seed == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    outcomes = {outcome.job.config.seed: outcome.error for outcome in cluster(work, JOBS)}
    assert "worker" in (outcomes.pop(0) or "")
    assert outcomes == dict.fromkeys(range(1, 6))


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match=r"fedcert\[ray\]"):
        RayCluster()
