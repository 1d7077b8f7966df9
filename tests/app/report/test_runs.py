import json
from pathlib import Path

import pytest
from grid_runs import properties, run, summary
from report_samples import files, finished, grid, result

from fedcert.app.output import write_summary
from fedcert.app.report.runs import FinishedRun, federations, merged, read_runs
from fedcert.app.report.words import claim_name
from fedcert.errors import DataError, UnreadableFile


def test_a_run_finds_what_its_files_hold() -> None:
    content = summary(hidden=(64, 64), clients=5, scale="learned")
    found = FinishedRun(content, properties(content))
    place = found.dataset, found.architecture, found.clients, found.concentration, found.scale
    assert place == ("mnist", "2×64", 5, 10.0, "learned")
    for row in content["summary"]:
        assert found.claims[row["claim"], row["rule"], row["events"]] == row
    for row in content["estimates"]:
        assert found.estimate(row["name"])[row["rule"]] == row["value"]


def test_the_strongest_claim_speaks_of_the_deployed_model() -> None:
    for rule in ("fedavg", "pog"):
        best = finished(rule=rule).strongest
        assert best is not None
        assert claim_name(best) == f"direct · {rule} · projected"  # not local, which is larger


def test_of_claims_that_show_the_same_the_one_with_the_least_upper_bound_is_strongest() -> None:
    run = finished()
    row = run.summary["summary"][1] | {"lower": 0.0, "upper": None}
    run.summary["summary"] = [row, row | {"events": "closed", "upper": 0.5}, row | {"events": "open"}]
    best = run.strongest
    assert best is not None
    assert best["events"] == "closed"


def test_nothing_may_be_claimed_of_the_deployed_model() -> None:
    content, entries = files(result())
    assert FinishedRun(content | {"summary": content["summary"][:1]}, entries).strongest is None


def test_runs_that_differ_in_events_or_claims_are_one() -> None:
    first, second, third = run(events=("paper-box",)), run(events=("box",)), run(events=("projected",))
    first.summary["timings"]["training"] = 9.0
    (found,) = merged([first, second, third])
    whole = run()
    assert found.claims == whole.claims
    assert found.config["events"] == ["paper-box", "box", "projected"]
    assert found.summary["timings"]["training"] == 9.0
    assert found.summary["estimates"] == whole.summary["estimates"]
    for entry in found.properties:  # claim by claim, as in every run
        assert [claim_name(row) for row in entry["bounds"]] == list(map(claim_name, found.claims.values()))


def test_what_two_runs_say_of_one_claim_is_said_by_the_first() -> None:
    first, second = run(events=("box",)), run(events=("box", "projected"))
    for row in second.summary["summary"]:
        row["lower"] = 0.0
    (found,) = merged([first, second])
    assert found.claims["direct", "fedavg", "box"]["lower"] > 0
    assert found.claims["direct", "fedavg", "projected"]["lower"] == 0


def test_the_same_job_done_twice_counts_once() -> None:
    assert len(merged([run(), run(data_dir="elsewhere"), run(epsilon=0.5)])) == 2


def test_runs_come_in_the_order_of_their_settings() -> None:
    assert [found.clients for found in merged(run(clients=n) for n in (5, 2, 3))] == [2, 3, 5]
    data = ("digits", "fashion-mnist", "mnist")
    assert [found.dataset for found in merged(run(dataset=name) for name in data)] == [*reversed(data)]


def test_learned_scales_come_last() -> None:
    found = merged(run(scale=scale) for scale in ("learned", 1e-3, 1e-5))
    assert [each.scale for each in found] == [1e-5, 1e-3, "learned"]


def test_a_federation_counts_once_whatever_is_certified_of_it() -> None:
    runs = [run(events=("box",)), run(events=("projected",)), run(scale="learned"), run(seed=1)]
    assert len(federations(runs)) == 2


def test_shards_are_merged_and_a_job_in_two_of_them_counts_once(tmp_path: Path) -> None:
    shards = [grid(tmp_path / "1", 0, 1), grid(tmp_path / "2", 1, 2)]
    assert [found.config["seed"] for found in read_runs(shards, tmp_path)] == [0, 1, 2]
    links = [found.link for found in read_runs(shards, tmp_path / "merged")]
    assert links[0] == "../1/jobs/job-0/report.html"


def test_every_finished_job_of_a_grid_is_found(tmp_path: Path) -> None:
    grid(tmp_path, 2, 0, 1)
    (tmp_path / "jobs" / "unfinished" / "unfinished").mkdir(parents=True)
    assert [found.config["seed"] for found in read_runs([tmp_path], tmp_path)] == [0, 1, 2]


def test_a_run_alone_is_found_and_links_to_its_report(tmp_path: Path) -> None:
    write_summary(result(), tmp_path, {})
    (found,) = read_runs([tmp_path], tmp_path / "report")
    assert found.link == "../report.html"
    (own,) = read_runs([tmp_path], tmp_path)
    assert own.link == ""


@pytest.mark.parametrize("name", ["result.json", "properties.json"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    grid(tmp_path, 0)
    (tmp_path / "jobs" / "job-0" / name).write_text("{", encoding="utf-8")
    with pytest.raises(UnreadableFile, match="job-0"):
        read_runs([tmp_path], tmp_path)


def test_a_result_of_an_earlier_version_is_named(tmp_path: Path) -> None:
    path = grid(tmp_path, 0) / "jobs" / "job-0" / "result.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["histograms"]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UnreadableFile, match="earlier version"):
        read_runs([tmp_path], tmp_path)


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_a_folder_without_results_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty" / "jobs").mkdir(parents=True)
    with pytest.raises(DataError, match=f"{name}: no results"):
        read_runs([tmp_path / name], tmp_path)
