"""`python -m reproduction`, with a small grid in the place of the paper's."""

import json
from pathlib import Path

import pytest
from grid_runs import properties, run
from terminal import exit_code

from reproduction import paper
from reproduction.__main__ import main

SMALL = """
[settings]
train-examples = 200
test-examples = 60
hidden = [4]
properties = 2
mc-samples = 5
attack-samples = 5
aggregate-samples = 5
training = { epochs = 1 }
events = ["projected"]
[[study]]
over.clients = [2, 3, 4, 5]
"""


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small grid on embedded data, and a folder to work in."""
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    paper.protocol()  # stays the paper's
    monkeypatch.setattr(paper, "GRID", tmp_path / "small.toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reproduce(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    return exit_code(monkeypatch, main, "reproduction", *arguments)


def stems(folder: Path) -> set[str]:
    return {path.stem for path in folder.iterdir()}


@pytest.mark.slow
def test_one_command_runs_the_grid_and_writes_the_report_and_again_resumes(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = small / "runs" / "paper"
    assert reproduce(monkeypatch, "--jobs", "1", "--only", "clients=2,3") == 0
    assert "certifying 2/2" in capsys.readouterr().err
    assert reproduce(monkeypatch, "--jobs", "1") == 0
    said = capsys.readouterr()
    assert "certifying 2/2" in said.err
    assert f"report: {out / 'report.html'}" in said.out
    assert len(list(out.glob("jobs/*/result.json"))) == 4
    assert stems(out / "tables") == {"jobs", "clients"}  # none of the paper's own federations
    assert stems(out / "figures") == {"clients", "cost"}
    assert "python -m reproduction --out runs/paper" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_shards_in_folders_of_their_own_are_merged(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in ("1", "2"):
        assert reproduce(monkeypatch, "--jobs", "1", "--shard", f"{i}/2", "--out", i) == 0
        assert f"python -m reproduction report {small / i}" in capsys.readouterr().err
        assert not (small / i / "report.html").exists()
    assert reproduce(monkeypatch, "report", "1", "2", "--out", "merged") == 0
    assert "clients" in stems(small / "merged" / "tables")


@pytest.mark.slow
def test_results_of_the_papers_federations_are_reported_in_its_form(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i, concentration in enumerate((0.5, 0.6, 1.0, 10.0)):
        one = run(clients=2, concentration=concentration)
        place = small / "jobs" / f"job-{i}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(one.summary), encoding="utf-8")
        (place / "properties.json").write_text(json.dumps(properties(one.summary)), encoding="utf-8")
    assert reproduce(monkeypatch, "report", ".") == 0
    expected = {
        "table2",
        "beside-paper-fedavg",
        "aggregates",
        "ratios",
        "ceilings",
        "quoted",
        "times",
        "jobs",
    }
    assert expected <= stems(small / "tables")
    assert {"hierarchy", "calibration", "retention"} <= stems(small / "figures")


def test_an_error_is_one_line_and_exit_code_2(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(monkeypatch, "--only", "clients=7") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("reproduction: only: no job has clients=7")
    assert not (small / "runs").exists()
