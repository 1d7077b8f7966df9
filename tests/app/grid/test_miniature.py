"""The miniature of the grid, from the command line: on joblib and on a Ray cluster, with the same numbers."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from small_runs import untimed

from fedcert.app import cli
from fedcert.app.grid.preset import load_grid

pytestmark = pytest.mark.slow


def start(out: Path, *options: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "fedcert.app.cli",
        "grid",
        "--preset",
        "miniature",
        "--out",
        str(out),
        *options,
    ]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=environment, start_new_session=True)


def finish(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output


def numbers(out: Path) -> dict[str, Any]:
    """All that is not a time."""
    paths = out.glob("jobs/*/result.json")
    return {path.parent.name: untimed(json.loads(path.read_text(encoding="utf-8"))) for path in paths}


@pytest.fixture(scope="module")
def on_joblib(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The miniature on joblib, killed once on the way."""
    out = tmp_path_factory.mktemp("joblib")
    process = start(out, "--jobs", "2")
    while process.poll() is None and not list(out.glob("jobs/*/result.json")):
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = set(numbers(out))
    assert 1 <= len(before) < 6
    output = finish(start(out, "--jobs", "2"))
    assert f"report: {out / 'report.html'}" in output.replace("\n", "")
    return out


def test_six_jobs_are_done_though_the_grid_was_killed(on_joblib: Path) -> None:
    assert set(numbers(on_joblib)) == {job.name for job in load_grid("miniature").jobs()}
    assert len(numbers(on_joblib)) == 6
    assert {path.suffix for path in on_joblib.glob("tables/*")} == {".csv", ".md", ".tex"}
    assert {path.suffix for path in on_joblib.glob("figures/*")} == {".svg", ".png", ".pdf"}


def test_clients_are_trained_once_for_both_scales(on_joblib: Path) -> None:
    assert len(list(on_joblib.glob("posteriors/*"))) == 3


def test_ray_gives_the_same_numbers_though_a_worker_is_killed(on_joblib: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra fedcert[ray]")
    process = start(tmp_path, "--engine", "ray", "--jobs", "2")
    while process.poll() is None and not list(tmp_path.glob("jobs/*/unfinished")):
        time.sleep(0.05)
    victims = subprocess.run(
        ["pgrep", "--session", str(os.getsid(process.pid)), "-f", "^ray::attempt"],
        capture_output=True,
        text=True,
    ).stdout.split()
    assert victims, "no worker at work"
    os.kill(int(victims[0]), signal.SIGKILL)
    finish(process)
    assert numbers(tmp_path) == numbers(on_joblib)


def test_shards_in_folders_of_their_own_are_merged(tmp_path: Path) -> None:
    for i in (1, 2):
        options = {"only": "clients=2,3", "events": "projected", "jobs": 1}
        cli.grid(preset="miniature", shard=f"{i}/2", out=tmp_path / str(i), **options)  # type: ignore[arg-type]
    cli.report([tmp_path / "1", tmp_path / "2"], tmp_path / "merged")
    assert (tmp_path / "merged" / "report.html").exists()
    jobs = [set(numbers(tmp_path / str(i))) for i in (1, 2)]
    assert [len(names) for names in jobs] == [2, 2]
    assert not jobs[0] & jobs[1]
