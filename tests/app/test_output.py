import csv
import json
import shutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from folders import files_below
from small_runs import small_config, untimed

import fedcert
from fedcert.app.config import RunConfig, load_config
from fedcert.app.journal import PARTS, Format, Once
from fedcert.app.output import carry_out, check_output
from fedcert.app.report.page import run_page
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.seal import digest
from fedcert.app.result import read_properties, read_summary
from fedcert.app.run import RunResult, run
from fedcert.app.summary import identity_of
from fedcert.errors import CannotWrite, DataError, OutputExists
from fedcert.wire import atomic
from fedcert.wire.message import Message
from fedcert_check import check

pytestmark = pytest.mark.slow
ROW = {
    *("claim", "rule", "events", "epsilon", "lower", "upper"),
    *("properties", "seconds", "certificate", "reproved"),
}
RADIUS_ROW = ROW - {"epsilon", "lower", "upper"} | {"threshold", "mean", "median"}

CONFIG, ONE_RADIUS = small_config(epsilon=[0.001, 0.01], radius=0.5, softmax_margins=[1.0]), small_config()


@pytest.fixture(scope="module", autouse=True)
def quick_searches() -> Iterator[None]:
    """Radii are searched in fewer steps."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("fedcert.federation.radius.SMALLEST_RADIUS", 0.125)
        monkeypatch.setattr("fedcert.federation.radius.STEPS", 1)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run") / "new" / "folder"


@pytest.fixture(scope="module", params=["fedavg", "pog"])
def result(request: pytest.FixtureRequest, folder: Path) -> RunResult:
    return write(CONFIG.model_copy(update={"rule": request.param}), folder, overwrite=True)


def write(config: RunConfig, folder: Path, overwrite: bool = False) -> RunResult:
    """What a run found that leaves its files in the folder."""
    results = []

    def work(once: Once) -> RunResult:
        results.append(run(config, once=once))
        return results[0]

    assert carry_out(work, folder, identity_of(config), overwrite) == read(folder)
    return results[0]


def read(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "properties.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_of(claim: dict[str, Any], row: dict[str, str]) -> bool:
    """Whether a row of properties.csv is one of a claim at its radius."""
    same = all(row[key] == claim[key] for key in ("claim", "rule", "events"))
    return same and not row["threshold"] and float(row["epsilon"]) == claim["epsilon"]


def test_a_run_leaves_these_files_and_no_others(folder: Path, result: RunResult) -> None:
    assert sorted(files_below(folder)) == [
        *sorted(one.file for one in (*result.proven, *result.proven_at_margins, *result.radii)),
        "messages/client-0.safetensors",
        "messages/client-1.safetensors",
        "properties.csv",
        "properties.json",
        "report.html",
        "result.json",
    ]


def test_result_json_follows_its_schema(folder: Path, result: RunResult) -> None:
    summary, rule = read(folder), result.config.rule
    assert set(summary) == {
        *("fedcert", "config", "clients", "refused", "accuracy", "accuracy_by_rule", "inputs", "norm"),
        *("summary", "margins", "radii", "confidence", "conclusions", "estimates", "timings", "histograms"),
    }
    assert summary["norm"] == "linf"
    assert summary["clients"] == [
        {"client": message.client, "examples": message.examples, "digest": message.digest}
        for message in result.messages
    ]
    assert summary["refused"] == {}
    assert summary["fedcert"] == fedcert.__version__
    assert summary["accuracy"] == result.accuracy[rule]
    assert summary["timings"] == result.timings
    (margin,), (radii,), margins = summary["margins"][:1], summary["radii"], summary["margins"]
    assert (set(margin), set(radii)) == (ROW | {"margin"}, RADIUS_ROW)
    assert [(row["epsilon"], row["margin"]) for row in margins] == [(at, 1.0) for at in CONFIG.epsilon]
    for row in (*margins, radii):
        assert (row["claim"], row["rule"], row["events"]) == ("direct", rule, "projected")
    assert radii["threshold"] == 0.5
    (other,) = {"fedavg", "pog"} - {rule}
    kinds = [("local", rule), ("transported", rule), ("direct", rule), ("direct", other)]
    families = ("paper-box", "box", "projected")
    expected = [(at, events, *kind) for at in CONFIG.epsilon for events in families for kind in kinds]
    rows = [(row["epsilon"], row["events"], row["claim"], row["rule"]) for row in summary["summary"]]
    assert rows == expected
    for row in summary["summary"]:
        assert set(row) == ROW
        assert 0 <= row["lower"] <= 1
        if (row["claim"], row["events"]) == ("direct", "projected"):
            assert row["lower"] <= row["upper"] <= 1
        else:
            assert row["upper"] is None
        assert row["properties"] == CONFIG.properties
        assert row["seconds"] >= 0


def test_estimates_in_result_json_are_estimates(folder: Path, result: RunResult) -> None:
    estimates = read(folder)["estimates"]
    names = {(row["name"], row["rule"], row["epsilon"]) for row in estimates}
    under_laws = {(name, rule) for name in ("mc-ibp", "attack-survival") for rule in ("fedavg", "pog")}
    sampled = under_laws | {("aggregated-sampling", result.config.rule)}
    assert names == {(*one, epsilon) for one in sampled for epsilon in CONFIG.epsilon}
    for row in estimates:
        assert set(row) == {"name", "rule", "epsilon", "value", "samples", "confidence_interval"}
        low, high = row["confidence_interval"]
        assert 0 <= low <= row["value"] <= high <= 1


def test_the_saved_configuration_repeats_the_run(folder: Path, result: RunResult, tmp_path: Path) -> None:
    config = load_config(folder / "result.json", {})
    assert config == result.config
    write(config, tmp_path)
    assert untimed(read(tmp_path)) == untimed(read(folder))
    assert table(tmp_path) == table(folder)
    assert files_below(tmp_path).keys() == files_below(folder).keys()


def test_another_seed_gives_another_result(folder: Path, result: RunResult, tmp_path: Path) -> None:
    write(load_config(folder / "result.json", {"seed": 1}), tmp_path)
    assert untimed(read(tmp_path))["summary"] != untimed(read(folder))["summary"]
    assert read(tmp_path)["config"] == read(folder)["config"] | {"seed": 1}


def test_properties_json_says_what_is_to_be_seen_of_each_property(folder: Path, result: RunResult) -> None:
    entries = read_properties(folder, read_summary(folder))
    examples = result.inputs.examples
    assert examples.index is not None
    assert [entry["label"] for entry in entries] == examples.label.tolist()
    assert [entry["index"] for entry in entries] == examples.index.tolist()
    assert [entry["radii"] for entry in entries] == [[r] for r in result.radii[0].found.radius.tolist()]
    assert all(entry["image"].startswith("data:image/png;base64,") for entry in entries)
    for i, entry in enumerate(entries):
        assert set(entry) == {"label", "index", "image", "bounds", "survival", "attacked", "radii"}
        own = [row for row in table(folder) if row["property"] == str(i) and not row["threshold"]]
        assert [
            {key: row[key] for key in ("claim", "rule", "events")}
            | {"epsilon": float(row["epsilon"])}
            | {"lower": float(row["lower"]), "upper": float(row["upper"]) if row["upper"] else None}
            for row in own
        ] == entry["bounds"]
        assert all(0 <= share <= 1 for share in entry["survival"].values())
        assert set(entry["survival"]) == {"fedavg", "pog"}
    histograms = read(folder)["histograms"]
    assert [sum(counts) for counts in histograms] == [message.examples for message in result.messages]


def test_the_report_can_be_written_again_from_the_folder(folder: Path, result: RunResult) -> None:
    summary = read_summary(folder)
    content = (folder / "result.json").read_text(encoding="utf-8")
    again = run_page(FinishedRun(summary, read_properties(folder, summary)), digest(content))
    assert (folder / "report.html").read_text(encoding="utf-8") == again


def test_an_attack_succeeds_where_the_input_radius_is_large() -> None:
    config = small_config(epsilon=(0.0, 1.0), events=("projected",), inputs="correct", claims=("direct",))
    attacked = run(config).attacked
    assert not attacked[0.0].any()
    assert attacked[1.0].all()


def test_the_summary_is_the_mean_of_properties_csv_rounded_outward(folder: Path, result: RunResult) -> None:
    rows = table(folder)
    for claim in read(folder)["summary"]:
        own = [row for row in rows if is_of(claim, row)]
        assert len(own) == CONFIG.properties
        mean = sum(Fraction(float(row["lower"])) for row in own) / len(own)
        assert Fraction(claim["lower"]) <= mean
        assert mean - Fraction(claim["lower"]) < 1e-12
        if claim["upper"] is None:
            assert {row["upper"] for row in own} == {""}
        else:
            mean = sum(Fraction(float(row["upper"])) for row in own) / len(own)
            assert mean <= Fraction(claim["upper"])
            assert Fraction(claim["upper"]) - mean < 1e-12


def test_the_certificates_are_proved_again(folder: Path, result: RunResult) -> None:
    assert result.proven
    for path in (folder / "certificates").iterdir():
        assert check(path).verdict


def test_whoever_resumes_a_run_is_told_so(tmp_path: Path) -> None:
    told: list[str] = []

    def killed(once: Once) -> RunResult:
        run(CONFIG.model_copy(update={"events": ("box",)}), once=once)
        raise KeyboardInterrupt

    identity = identity_of(CONFIG)
    with pytest.raises(KeyboardInterrupt):
        carry_out(killed, tmp_path / "run", identity, notify=told.append)
    assert not told
    with pytest.raises(KeyboardInterrupt):
        carry_out(killed, tmp_path / "run", identity, notify=told.append)
    assert told == [f"resuming the unfinished run in {tmp_path / 'run'}"]


def test_the_messages_load_as_they_were_sent(folder: Path, result: RunResult) -> None:
    for sent in result.messages:
        loaded = Message.load(folder / "messages" / f"{sent.client}.safetensors")
        assert (loaded.client, loaded.examples) == (sent.client, sent.examples)
        assert torch.equal(loaded.law.loc, sent.law.loc)
        assert torch.equal(loaded.cells.log_mass, sent.cells.log_mass)
        assert torch.equal(loaded.cells.member, sent.cells.member)


@pytest.mark.parametrize("name", PARTS)
def test_a_folder_with_a_part_of_a_run_is_refused_unless_it_may_be_replaced(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir() if "." not in name else (tmp_path / name).touch()
    with pytest.raises(OutputExists, match=name) as caught:
        check_output(tmp_path, overwrite=False)
    assert str(tmp_path) in str(caught.value)
    assert "--overwrite" in str(caught.value)
    check_output(tmp_path, overwrite=True)
    assert (tmp_path / name).exists()


def test_messages_that_are_no_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "messages").touch()
    with pytest.raises(OutputExists, match="is a file"):
        check_output(tmp_path, overwrite=True)


def test_an_overwrite_replaces_the_run_and_spares_other_files(tmp_path: Path) -> None:
    write(ONE_RADIUS, tmp_path)
    (tmp_path / "messages" / "client-7.safetensors").write_bytes(b"an earlier run had more clients")
    (tmp_path / "properties.csv").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "more.txt").write_text("mine too")
    write(ONE_RADIUS, tmp_path, overwrite=True)
    files = files_below(tmp_path)
    assert files.pop("notes.txt") == b"mine"
    assert files.pop("data/more.txt") == b"mine too"
    assert "messages/client-7.safetensors" not in files
    assert len(table(tmp_path)) == 12 * ONE_RADIUS.properties


def test_other_files_in_the_folder_are_no_run(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    check_output(tmp_path, overwrite=False)


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputExists, match="--out") as caught:
        check_output(tmp_path / "file" / below, overwrite=True)
    assert str(tmp_path / "file") in str(caught.value)


def test_a_full_disk_keeps_what_is_done_and_an_error_in_the_input_nothing(tmp_path: Path) -> None:
    def fail_with(error: Exception) -> Callable[[Once], RunResult]:
        def work(once: Once) -> RunResult:
            once(
                "messages/part",
                lambda: "part",
                Format[str](lambda text, path: atomic.write(path, text), Path.read_text),
            )
            raise error

        return work

    with pytest.raises(DataError):
        carry_out(fail_with(DataError("no data")), tmp_path / "run", identity_of(CONFIG))
    assert files_below(tmp_path) == {}
    with pytest.raises(CannotWrite):
        carry_out(fail_with(CannotWrite("no room")), tmp_path / "run", identity_of(CONFIG))
    assert "run/unfinished/messages/part" in files_below(tmp_path)
    with pytest.raises(DataError):  # the data may come back, what was found from them may not
        carry_out(fail_with(DataError("no data")), tmp_path / "run", identity_of(CONFIG))
    assert "run/unfinished/messages/part" in files_below(tmp_path)


def test_a_run_killed_on_its_way_into_place_is_put_there_without_more_work(
    folder: Path, result: RunResult, tmp_path: Path
) -> None:
    def work(once: Once) -> RunResult:
        raise AssertionError("nothing is left to do")

    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    for config, done in ((result.config, True), (result.config.model_copy(update={"seed": 1}), False)):
        (tmp_path / "complete").mkdir()
        for name in ("certificates", "report.html", "result.json"):
            (tmp_path / name).rename(tmp_path / "complete" / name)
        (tmp_path / "result.json").write_text("of an earlier run")
        if done:
            assert carry_out(work, tmp_path, identity_of(config)) == read(folder)
        else:
            with pytest.raises(OutputExists):
                carry_out(work, tmp_path, identity_of(config))
        assert files_below(tmp_path) == files_below(folder)
