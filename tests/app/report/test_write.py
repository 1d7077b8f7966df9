import json
from pathlib import Path
from random import Random

import pytest
from damage import damaged, extreme
from grid_cells import properties, summary
from report_samples import result

from fedcert.app.output import write_summary
from fedcert.app.report import write
from fedcert.app.report.cells import cells_of
from fedcert.app.report.figures import all_pictures
from fedcert.app.report.formats import csv, latex, markdown
from fedcert.app.report.job import Job
from fedcert.app.report.page import grid_page, run_page
from fedcert.app.report.tables import all_tables
from fedcert.app.report.write import read_jobs, write_report
from fedcert.errors import DataError, FedcertError, UnreadableFile

DAMAGED = 100  # files of each kind
SWEEPS = [
    *({"concentration": value, "clients": 2} for value in (5.0, 7.0, 10.0)),
    *({"concentration": 5.0, "clients": count} for count in (3, 5, 7)),
    *({"concentration": 5.0, "clients": 2, "scale": scale} for scale in (1e-3, "learned")),
    {"concentration": 5.0, "clients": 2, "screen": False},
]  # all tables and figures are made of these


def grid(folder: Path, *seeds: int) -> Path:
    for seed in seeds:
        (folder / "jobs" / f"job-{seed}").mkdir(parents=True)
        write_summary(result(seed=seed), folder / "jobs" / f"job-{seed}")
    return folder


def test_tables_figures_and_a_page_are_written(tmp_path: Path) -> None:
    jobs = write_report([grid(tmp_path, 0, 1)], tmp_path, "fedcert grid --preset mine")
    assert [job.summary["config"]["seed"] for job in jobs] == [0, 1]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "fedcert grid --preset mine" in page
    assert "jobs/job-1/report.html" in page
    names = {path.stem for path in (tmp_path / "tables").iterdir()}
    assert names
    assert all((tmp_path / "tables" / f"{name}.{kind}").exists() for name in names for kind in ("csv", "tex"))


def test_shards_are_merged_and_a_job_in_two_of_them_counts_once(tmp_path: Path) -> None:
    shards = [grid(tmp_path / "1", 0, 1), grid(tmp_path / "2", 1, 2)]
    assert [job.summary["config"]["seed"] for job in read_jobs(shards, tmp_path)] == [0, 1, 2]
    links = [job.link for job in read_jobs(shards, tmp_path / "merged")]
    assert links[0] == "../1/jobs/job-0/report.html"


def test_a_run_alone_has_a_report_too(tmp_path: Path) -> None:
    write_summary(result(), tmp_path)
    (job,) = write_report([tmp_path], tmp_path / "report", "fedcert run")
    assert job.link == "../report.html"


def test_every_finished_job_of_a_grid_is_found(tmp_path: Path) -> None:
    grid(tmp_path, 2, 0, 1)
    (tmp_path / "jobs" / "unfinished" / "unfinished").mkdir(parents=True)
    assert [job.summary["config"]["seed"] for job in read_jobs([tmp_path], tmp_path)] == [0, 1, 2]


@pytest.mark.parametrize("name", ["result.json", "properties.json"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    grid(tmp_path, 0)
    (tmp_path / "jobs" / "job-0" / name).write_text("{", encoding="utf-8")
    with pytest.raises(UnreadableFile, match="job-0"):
        write_report([tmp_path], tmp_path, "")


def test_a_result_of_an_earlier_version_is_named(tmp_path: Path) -> None:
    path = grid(tmp_path, 0) / "jobs" / "job-0" / "result.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    del summary["histograms"]
    path.write_text(json.dumps(summary), encoding="utf-8")
    with pytest.raises(UnreadableFile, match="earlier version"):
        read_jobs([tmp_path], tmp_path)


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_a_folder_without_results_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty" / "jobs").mkdir(parents=True)
    with pytest.raises(DataError, match=f"{name}: no results"):
        write_report([tmp_path / name], tmp_path, "")


@pytest.mark.parametrize("name", ["result.json", "properties.json"])
def test_whatever_is_in_a_file_the_report_is_written_or_the_file_named(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "all_pictures", lambda cells: [])
    path = grid(tmp_path, 0, 1) / "jobs" / "job-0" / name
    content = json.loads(path.read_text(encoding="utf-8"))
    written, complaints = 0, []
    for i in range(DAMAGED):
        path.write_bytes(damaged(content, Random(f"{name} {i}")))
        try:
            (job, *_) = write_report([tmp_path], tmp_path / "report", "")
            run_page(job.summary, job.properties)
            written += 1
        except FedcertError as error:
            complaints.append(str(error))
    assert all(text.startswith(f"{path.parent}/") and text.isprintable() for text in complaints)
    assert len(complaints) > DAMAGED / 2
    assert written


def extreme_jobs(seed: int) -> list[Job]:
    random = Random(seed)
    contents = [extreme(summary(**settings), random) for settings in SWEEPS]
    return [Job(content, properties(content)) for content in contents]


@pytest.mark.parametrize("seed", range(8))
def test_tables_and_pages_show_figures_at_the_ends_of_their_ranges(seed: int) -> None:
    jobs = extreme_jobs(seed)
    tables = all_tables(cells_of(job.summary for job in jobs))
    assert all(csv(table) and markdown(table) and latex(table) for table in tables)
    assert "</html>" in grid_page(jobs, tables, [], "")
    assert "</html>" in run_page(jobs[0].summary, jobs[0].properties)


def test_figures_are_drawn_at_the_ends_of_their_ranges() -> None:
    assert all_pictures(cells_of(job.summary for job in extreme_jobs(5)))


def test_folders_may_have_any_name(tmp_path: Path) -> None:
    """Not every name of a folder is text; links in a page are made of bytes."""
    folder = grid(tmp_path / "a b\udcff", 0)
    (folder / "jobs" / "job-0").rename(folder / "jobs" / "job \udcfe")
    write_report([folder], tmp_path / "out", f"fedcert report {folder}")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "a%20b%FF/jobs/job%20%FE/report.html" in page
    assert r"a b\udcff" in page
