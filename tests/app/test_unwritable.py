"""An output that cannot be written is one line and exit code 2, whatever is in the way."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from small_runs import SMALL_RUN, as_toml
from terminal import exit_code

from fedcert.app.cli import main

COMMANDS = {
    "run": ["run", "--config", "run.toml"],
    "certify": ["certify", "--messages", "run/messages", "--config", "run.toml"],
    "grid": ["grid", "--preset", "miniature", "--only", "clients=2"],
    "report": ["report", "run"],
}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands read: a configuration, and a finished run."""
    folder = tmp_path_factory.mktemp("before")
    (folder / "run.toml").write_text(
        as_toml(SMALL_RUN | {"events": ["box"], "epsilon": [0.001]}), encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        assert exit_code(patched, main, "fedcert", *COMMANDS["run"], "--out", "run") == 0
    return folder


@pytest.fixture(autouse=True)
def workplace(before: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(before, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def a_file_in_the_way(monkeypatch: pytest.MonkeyPatch) -> str:
    Path("out").write_text("in the way")
    return "out"


def a_file_above(monkeypatch: pytest.MonkeyPatch) -> str:
    Path("above").write_text("in the way")
    return "above/out"


def files_inside(monkeypatch: pytest.MonkeyPatch) -> str:
    Path("out").mkdir()
    for name in ("unfinished", "tables", "jobs", "posteriors"):
        (Path("out") / name).write_text("in the way")
    return "out"


def no_file_system_for_it(monkeypatch: pytest.MonkeyPatch) -> str:
    return "/proc/out"  # where not even root may make a folder


def no_permission(monkeypatch: pytest.MonkeyPatch) -> str:
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    return "out"


def a_full_disk(monkeypatch: pytest.MonkeyPatch) -> str:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    return "out"


OBSTACLES = [
    a_file_in_the_way,
    a_file_above,
    files_inside,
    no_file_system_for_it,
    no_permission,
    a_full_disk,
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.__name__)
def test_it_is_one_line_that_names_the_path_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    obstacle: Callable[[pytest.MonkeyPatch], str],
) -> None:
    out = obstacle(monkeypatch)
    assert exit_code(monkeypatch, main, "fedcert", *COMMANDS[command], "--out", out) == 2
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert line.startswith("fedcert: ")
    assert out in line
    assert ("make room" if obstacle is a_full_disk else "choose another") in line
    assert shown.out == ""
