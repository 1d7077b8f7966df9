import json
from pathlib import Path

import pytest
from report_samples import result

from fedcert.errors import FedcertError, UnreadableFile
from fedcert.experiments.output import write_summary
from fedcert.experiments.report.write import read_jobs, write_report


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


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FedcertError, match="no results"):
        write_report([tmp_path], tmp_path, "")
