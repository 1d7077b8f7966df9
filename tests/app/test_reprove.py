"""Proved twice, or shown as not proved again."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_summaries import summary
from small_runs import SMALL_RUN, as_toml
from terminal import exit_code

import fedcert.app.asked as asked
from fedcert.app.cli import main
from fedcert.app.reprove import all_reproved, independent_checker
from fedcert.certificate import Certificate
from fedcert.progress import silent

SETTINGS = SMALL_RUN | {
    "events": ["projected"],
    "claims": ["transported", "direct"],
    "compare": [],
    "properties": 2,
    "hidden": [4],
    "confidence_draws": 10,
    "estimates": ["attack-survival"],
}


def fedcert(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    return exit_code(monkeypatch, main, "fedcert", *arguments)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose certificates were proved again before a number was shown."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "run.toml").write_text(as_toml(SETTINGS), encoding="utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        out = ("--config", str(folder / "run.toml"), "--out", str(folder / "run"))
        assert fedcert(monkeypatch, "run", *out, "--check") == 0
    return folder / "run"


def content(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def verdicts(folder: Path) -> list[bool]:
    return [row["reproved"] for part in ("summary", "confidence") for row in content(folder)[part]]


@pytest.mark.slow
def test_a_checked_run_says_that_every_certificate_was_proved_again(finished: Path) -> None:
    assert verdicts(finished) == [True, True, True]
    assert all_reproved(content(finished))  # type: ignore[arg-type]
    assert "reproved" not in {path.name for path in finished.iterdir()}, "verdicts are in result.json alone"


@pytest.mark.slow
def test_the_result_of_a_run_repeats_it(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --check the numbers are the same, and nothing is said to be proved again."""
    capsys.readouterr()
    command = ("run", "--config", str(finished / "result.json"), "--out", str(tmp_path / "again"))
    assert fedcert(monkeypatch, *command) == 0
    again, first = content(tmp_path / "again"), content(finished)
    for name in ("config", "inputs", "accuracy", "conclusions", "estimates", "clients"):
        assert again[name] == first[name]
    for mine, theirs in zip(again["summary"], first["summary"], strict=True):
        assert mine == theirs | {"seconds": mine["seconds"], "reproved": False}
    assert (tmp_path / "again/properties.csv").read_bytes() == (finished / "properties.csv").read_bytes()
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"not re-proved yet: fedcert check {tmp_path / 'again'}"


@pytest.mark.slow
def test_a_certificate_that_the_checker_does_not_prove_is_shown_and_the_command_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A prover that claims more than it proved."""
    honest = asked.timed

    def boastful(make: Any) -> Any:
        made, seconds = honest(make)
        if isinstance(made, Certificate) and made.claim.kind == "direct":
            made = replace(made, lower=(made.lower + 0.5).clamp(max=1.0), upper=None)
        return made, seconds

    monkeypatch.setattr(asked, "timed", boastful)
    (tmp_path / "run.toml").write_text(as_toml(SETTINGS | {"confidence_draws": 0}), encoding="utf-8")
    out = tmp_path / "out"
    command = ("run", "--config", str(tmp_path / "run.toml"), "--out", str(out))
    assert fedcert(monkeypatch, *command, "--check") == 1
    said = capsys.readouterr()
    assert "fedcert: not re-proved: direct-fedavg-projected-eps-0.001.safetensors" in said.err
    lines = [line for line in said.out.splitlines() if line.startswith("│")]
    assert [("transported" in line, " yes " in line or "│yes" in line) for line in lines] == [
        (True, True),
        (False, False),
    ]
    assert said.out.splitlines()[-1] == f"not re-proved yet: fedcert check {out}"
    assert verdicts(out) == [True, False]
    assert not all_reproved(content(out))  # type: ignore[arg-type]


def checked(path: Path) -> tuple[bool, list[str]]:
    """What the checker says of a file, and what it tells."""
    told: list[str] = []
    return independent_checker(silent, told.append)(path), told


@pytest.mark.slow
def test_files_that_prove_nothing_are_told_and_no_error(finished: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(finished, tmp_path / "run"))
    for path in (*(copy / "certificates").iterdir(), *(copy / "confidence").iterdir()):
        assert checked(path) == (True, [])
        path.write_bytes(path.read_bytes()[:-1])
        verdict, (told,) = checked(path)
        assert not verdict
        assert told.startswith("not re-proved: ")
        assert path.name in told
    assert checked(copy / "certificates" / "none.safetensors")[0] is False


@pytest.mark.slow
def test_a_certificate_without_the_messages_it_speaks_of_is_not_proved(
    finished: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(finished, tmp_path / "run"))
    (copy / "messages" / "client-1.safetensors").unlink()
    for path in (copy / "certificates").iterdir():
        assert checked(path)[0] is False


@pytest.mark.parametrize("part", ["summary", "margins", "radii", "confidence"])
def test_all_is_proved_again_only_if_every_part_is(part: str) -> None:
    run = summary()
    for name in ("summary", "margins", "radii", "confidence"):
        run[name] = [{"reproved": True}]
    assert all_reproved(run)  # type: ignore[arg-type]
    run[part] = [{"reproved": True}, {"reproved": False}]
    assert not all_reproved(run)  # type: ignore[arg-type]
