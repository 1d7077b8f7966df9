"""What is left of a grid is done, once."""

import json
from pathlib import Path

import pytest
from small_grids import Here, Recorder, tiny

from fedcert.app.grid import work
from fedcert.app.grid.carry_out import carry_out_grid
from fedcert.app.grid.folder import GridFolder
from fedcert.app.grid.job import Job
from fedcert.app.run import run

JOBS = [tiny(scale=scale, clients=n) for scale in (1e-3, "learned") for n in (2, 3)]


def do(folder: GridFolder, jobs: list[Job], engine: Here) -> list[str]:
    folder.begin("tiny", jobs)
    return [outcome.job.name for outcome in carry_out_grid(jobs, folder, engine, Recorder())]


@pytest.mark.slow
def test_every_federation_is_trained_once_and_every_job_done_once(tmp_path: Path) -> None:
    folder, engine = GridFolder(tmp_path), Here()
    assert do(folder, JOBS, engine) == []
    assert len(engine.done) == 2 + 4
    assert all(folder.done(job) for job in JOBS)
    again = Here()
    assert do(folder, [*JOBS, tiny(epsilon=0.01)], again) == []
    assert again.done == [tiny(epsilon=0.01).name]  # its clients are there already


@pytest.mark.slow
def test_the_numbers_are_those_of_a_run(tmp_path: Path) -> None:
    folder = GridFolder(tmp_path)
    do(folder, JOBS[:1], Here())
    summary = json.loads((folder.job(JOBS[0]) / "result.json").read_text(encoding="utf-8"))
    alone = run(JOBS[0].config)
    assert [row["lower"] for row in summary["summary"]] == [
        one.certificate.mean_lower for one in alone.proven
    ]
    assert summary["timings"]["training"] > 0


@pytest.mark.slow
def test_a_failure_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, certify_clients = GridFolder(tmp_path), work.certify_clients

    def fail(config: object, *args: object, **kwargs: object) -> object:
        if config == JOBS[1].config:
            raise ZeroDivisionError("by accident")
        return certify_clients(config, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(work, "certify_clients", fail)
    assert do(folder, JOBS, Here()) == [JOBS[1].name]
    error = folder.job(JOBS[1]) / "error.txt"
    assert "ZeroDivisionError: by accident" in error.read_text(encoding="utf-8")
    monkeypatch.undo()
    engine = Here()
    assert do(folder, JOBS, engine) == []
    assert engine.done == [JOBS[1].name]
    assert not error.exists()


@pytest.mark.slow
def test_jobs_whose_training_fails_fail_and_the_others_go_on(tmp_path: Path) -> None:
    folder, hopeless = GridFolder(tmp_path), tiny(train_examples=2, clients=50, concentration=0.01)
    assert do(folder, [hopeless, JOBS[0]], Here()) == [hopeless.name]
    assert "without leaving one empty" in (folder.job(hopeless) / "error.txt").read_text(encoding="utf-8")
    assert folder.done(JOBS[0])


@pytest.mark.slow
def test_certificates_are_kept_where_asked_for(tmp_path: Path) -> None:
    folder = GridFolder(tmp_path)
    folder.begin("tiny", JOBS)
    carry_out_grid(JOBS[:1], folder, Here(), Recorder(), keep_certificates=True)
    carry_out_grid(JOBS[1:2], folder, Here(), Recorder())
    kept, dropped = (sorted(path.name for path in folder.job(job).iterdir()) for job in JOBS[:2])
    assert {"certificates", "messages"} <= set(kept)
    assert set(kept) - set(dropped) == {"certificates", "messages"}


@pytest.mark.slow
def test_the_longest_jobs_come_first_and_all_are_shown(tmp_path: Path) -> None:
    folder, engine, display = GridFolder(tmp_path), Here(), Recorder()
    folder.begin("tiny", JOBS)
    carry_out_grid(JOBS, folder, engine, display)
    efforts = [{job.name: job.effort for job in JOBS}[name] for name in engine.done[2:]]
    assert efforts == sorted(efforts, reverse=True)
    trained = [name for what, name in display.told if what == "training federations"]
    assert sorted(trained) == sorted({job.training for job in JOBS})
    assert [name for what, name in display.told if what == "certifying"] == engine.done[2:]
