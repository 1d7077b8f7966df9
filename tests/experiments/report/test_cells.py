import json
from pathlib import Path
from typing import Any

import pytest
from grid_cells import cell, summary

from fedcert.errors import DataError, UnreadableFile
from fedcert.experiments.report.cells import read_cells


def put(folder: Path, content: dict[str, Any] | str) -> None:
    folder.mkdir(parents=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "result.json").write_text(text, encoding="utf-8")


def test_a_cell_holds_what_the_run_found(tmp_path: Path) -> None:
    content = summary(hidden=(64, 64), clients=5, scale="learned", seed=3)
    put(tmp_path / "run", content)
    (found,) = read_cells([tmp_path / "run"])
    assert (found.dataset, found.hidden, found.clients, found.scale, found.seed) == (
        "mnist",
        (64, 64),
        5,
        "learned",
        3,
    )
    assert found.architecture == "2×64"
    for row in content["summary"]:
        claim = row["claim"], row["rule"], row["events"]
        assert found.lower[claim] == row["lower"]
        assert found.seconds[claim] == row["seconds"]
        assert found.upper.get(claim) == row["upper"]
    for row in content["estimates"]:
        assert found.estimates[row["name"], row["rule"]] == row["value"]
    assert found.accuracy == content["accuracy_by_rule"]
    assert found.timings == content["timings"]


def test_every_finished_job_of_a_grid_is_found(tmp_path: Path) -> None:
    for clients in (5, 2, 3):
        put(tmp_path / "jobs" / f"n{clients}", summary(clients=clients))
    (tmp_path / "jobs" / "unfinished" / "unfinished").mkdir(parents=True)
    assert [found.clients for found in read_cells([tmp_path])] == [2, 3, 5]


def test_runs_that_differ_in_events_are_one_cell(tmp_path: Path) -> None:
    first, second = summary(events=("paper-box",)), summary(events=("box", "projected"))
    first["timings"]["training"] = 9.0
    put(tmp_path / "jobs" / "a", first)
    put(tmp_path / "jobs" / "b", second)
    (found,) = read_cells([tmp_path])
    whole = cell()
    assert found.lower == whole.lower
    assert found.upper == whole.upper
    assert found.config["events"] == ["paper-box", "box", "projected"]
    assert found.timings["training"] == 9.0


def test_the_same_job_in_two_folders_counts_once(tmp_path: Path) -> None:
    put(tmp_path / "one" / "jobs" / "a", summary())
    put(tmp_path / "two" / "jobs" / "a", summary(data_dir="elsewhere"))
    put(tmp_path / "two" / "jobs" / "b", summary(epsilon=0.5))
    assert len(read_cells([tmp_path / "one", tmp_path / "two"])) == 2


def test_learned_scales_come_last(tmp_path: Path) -> None:
    for i, scale in enumerate(("learned", 1e-3, 1e-5)):
        put(tmp_path / "jobs" / str(i), summary(scale=scale))
    assert [found.scale for found in read_cells([tmp_path])] == [1e-5, 1e-3, "learned"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"config": 3}',
        json.dumps(summary() | {"accuracy_by_rule": {"fedavg": 1.5}}),
    ],
)
def test_an_unreadable_result_is_named(tmp_path: Path, content: str) -> None:
    put(tmp_path / "jobs" / "good", summary())
    put(tmp_path / "jobs" / "spoilt", content)
    with pytest.raises(UnreadableFile, match=r"spoilt.result\.json: not the result of a run"):
        read_cells([tmp_path])


@pytest.mark.parametrize("bound", [float("nan"), -0.1, 1.1])
def test_a_bound_that_is_no_probability_is_refused(tmp_path: Path, bound: float) -> None:
    content = summary()
    content["summary"][0]["lower"] = bound
    put(tmp_path / "run", content)
    with pytest.raises(UnreadableFile, match="no probability"):
        read_cells([tmp_path / "run"])


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_a_folder_without_results_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty" / "jobs").mkdir(parents=True)
    with pytest.raises(DataError, match=f"{name}: no results"):
        read_cells([tmp_path / name])
