"""Files made to crash, stall or exhaust the checker, or to fool who reads its verdict."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import (
    NASTY,
    corrupt_neighbour,
    fine_lattice,
    many_nodes,
    many_tiles,
    nasty_client,
    nasty_events,
    nasty_file,
    wide,
)
from terminal import exit_code

from fedcert.app.cli import main
from fedcert.errors import TooCostly
from fedcert.progress import silent
from fedcert_check import Refused, Report, check, check_each
from fedcert_check.cost import DEFAULT_LIMITS, GIB, ProofLimits

ADDRESSES = 3 * GIB  # of a process that refuses: mostly libraries that are mapped, not used
NO_BALLS = "a ball was made"


@pytest.fixture
def no_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever begins a proof is stopped."""

    def never(*_: object) -> None:
        raise AssertionError(NO_BALLS)

    projected = ("projected.laws", "projected.block_laws", "projected.exact")
    for module in ("boxes", "masses", "verifier", "rules", "cells", *projected):
        monkeypatch.setattr(f"fedcert_check.{module}.exact", never)
    monkeypatch.setattr("fedcert_check.cells.read_nodes", never)
    monkeypatch.setattr("fedcert_check.boxes.overlapping", never)


@pytest.mark.parametrize(
    ("build", "limits", "option"),
    [
        (wide, DEFAULT_LIMITS, "--max-memory"),
        (lambda folder: fine_lattice(folder, 32), DEFAULT_LIMITS, "--max-memory"),
        (fine_lattice, ProofLimits(memory=3 * GIB // 4), "--max-memory"),
        (fine_lattice, ProofLimits(seconds=1.0), "--max-work"),
        (many_nodes, ProofLimits(seconds=1.0), "--max-work"),
        (many_tiles, ProofLimits(seconds=1.0), "--max-work"),
    ],
    ids=["width", "lattice of 32", "lattice, memory", "lattice, work", "nodes", "tiles"],
)
@pytest.mark.usefixtures("no_balls")
def test_what_costs_too_much_is_refused_before_it_is_paid(
    build: Callable[[Path], Path], limits: ProofLimits, option: str, tmp_path: Path
) -> None:
    path = build(tmp_path)
    with pytest.raises(TooCostly, match=option) as refused:
        check(path, limits=limits)
    assert str(path) in str(refused.value)


@pytest.mark.usefixtures("no_balls")
def test_within_the_limits_a_proof_begins(tmp_path: Path) -> None:
    for build in (many_nodes, many_tiles, fine_lattice):
        with pytest.raises(AssertionError, match=NO_BALLS):
            check(build(tmp_path / build.__name__))


@pytest.mark.slow
def test_a_refusal_takes_hardly_any_memory(tmp_path: Path) -> None:
    """The proof would ask for 27 GiB at once; the process may not even map 3."""
    path = wide(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "fedcert.app.cli", "check", str(path), "--jobs", "1"],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES)),
        timeout=300,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "--max-memory" in line


def test_nodes_of_that_kind_are_proved_where_they_are_few(tmp_path: Path) -> None:
    assert check(many_nodes(tmp_path, 16)).verdict


def test_memory_that_is_not_there_is_a_clean_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("fedcert_check.boxes.over_properties", exhausted)
    with pytest.raises(TooCostly, match="more memory than there is"):
        check(corrupt_neighbour(tmp_path))


def fedcert(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    return exit_code(monkeypatch, main, "fedcert", "check", "--jobs", "1", *arguments)


@pytest.mark.parametrize(
    ("build", "code"),
    [(nasty_client, 2), (nasty_events, 2), (nasty_file, 0), (corrupt_neighbour, 0)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_no_name_reaches_the_terminal_as_a_command(
    build, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = build(tmp_path)
    assert fedcert(monkeypatch, str(path)) == code
    (tmp_path / "messages" / f"{NASTY.replace('/', '')}.safetensors").write_bytes(b"torn")
    assert fedcert(monkeypatch, str(path)) == code
    path.write_bytes(b"no certificate")
    assert fedcert(monkeypatch, str(path)) == 2
    out, err = capsys.readouterr()
    assert all(line.isprintable() for line in (out + err).split("\n"))
    assert all(line.startswith("fedcert: ") for line in err.splitlines())


def test_one_unreadable_certificate_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good = corrupt_neighbour(tmp_path)
    (good.parent / "a-torn.safetensors").write_bytes(good.read_bytes()[:-1])
    assert fedcert(monkeypatch, str(tmp_path)) == 2
    out, err = capsys.readouterr()
    assert "│proved" in out
    assert "NOT CHECKED" in out
    assert "a-torn.safetensors" in err
    assert err.count("skipped: ") == 2
    first, second = check_each(sorted(good.parent.iterdir()), None, 1, silent)
    assert isinstance(first, Refused)
    assert isinstance(second, Report)
    assert second.verdict


def test_the_options_set_the_limits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(corrupt_neighbour(tmp_path))
    assert fedcert(monkeypatch, path, "--max-memory", "0.05") == 2
    assert "more than 0.05: raise --max-memory" in capsys.readouterr().err
    assert fedcert(monkeypatch, path, "--max-work", "1e-9") == 2
    assert "more than 1e-09: raise --max-work" in capsys.readouterr().err
    assert fedcert(monkeypatch, path, "--max-memory", "1", "--max-work", "1") == 0
