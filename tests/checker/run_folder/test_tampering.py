"""Every tampering with a run's result.json is refused with a line that names file and field."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refused_runs import evidence, lines, put, refused
from run_folders import edit_result

from fedcert_check import check_run
from fedcert_check.cost import ProofLimits
from fedcert_check.run_folder import RunReport
from fedcert_check.run_folder.compare import Comparison, compare
from fedcert_check.run_folder.words import last_line

DIRECT = "direct-fedavg-projected-eps-0.001.safetensors"


def test_a_run_as_it_was_written_is_proved_and_agrees(folder: Path) -> None:
    report = check_run(folder)
    assert (report.exit_code, report.verdict, lines(report)) == (0, "proved", [])
    assert report.comparison.compared == ("result.json", "properties.csv", "properties.json", "report.html")
    assert last_line(report) == (
        "proved: 8 certificates; 1 confidence bound found again;"
        " all claims of result.json, properties.csv and properties.json follow from them;"
        " report.html: its marked bounds and sentences follow; its pictures and other words are not checked"
    )


def test_the_last_line_says_nothing_of_claims_that_rest_on_what_was_not_checked(folder: Path) -> None:
    report = check_run(folder, limits=ProofLimits(seconds=0))
    assert report.exit_code == 2
    assert last_line(report) == (
        "NOT CHECKED: 8 of 8 certificates could not be checked; 1 confidence bound could not be checked;"
        " nothing is said of the claims that rest on them"
    )
    one = RunReport(folder, (report.outcomes[0],), Comparison(("result.json",)))
    assert last_line(one).endswith("not be checked; nothing is said of the claims that rest on it")


def test_certificates_that_are_proved_are_said_to_be_where_files_do_not_follow(folder: Path) -> None:
    edit_result(folder, put("summary.0.lower", 0.1))
    report = check_run(folder)
    assert report.exit_code == 1
    assert last_line(report).startswith(
        "NOT PROVED: 8 certificates proved; 1 confidence bound found again, but the run's files do not follow"
        " from them: "
    )


EDITS = {
    "summary.0.claim": "transported",
    "summary.0.rule": "pog",
    "summary.0.events": "box",
    "summary.0.epsilon": 0.3,
    "summary.0.lower": lambda old: math.nextafter(old, 1.0) + 1e-12,
    "summary.0.properties": 5,
    "summary.2.upper": lambda old: old - 1e-12,
    "margins.0.claim": "local",
    "margins.0.epsilon": 0.3,
    "margins.0.margin": 0.125,
    "margins.0.lower": lambda old: old + 1e-12,
    "confidence.0.rule": "pog",
    "confidence.0.epsilon": 0.01,
    "confidence.0.lower": lambda old: old + 1e-12,
    "confidence.0.upper": lambda old: old - 1e-12,
    "confidence.0.properties": 3,
    "confidence.0.draws": 10_000,
    "confidence.0.confidence": 0.99,
    "confidence.0.proven": 1.0,
    "confidence.0.broken": 0.0,
    "conclusions.0.value": lambda old: old + 1e-9,
    "conclusions.0.sentence": lambda old: old.replace("at least", "exactly"),
    "conclusions.2.assumptions": [],
    "conclusions.1.name": "expected",
    "radii.0.claim": "local",
    "radii.0.threshold": 0.99999,
    "radii.0.mean": lambda old: math.nextafter(old, 1.0) + 1e-12,
    "radii.0.median": 0.02,
    "radii.0.properties": 3,
    "clients.0.client": "client-1",
    "clients.0.examples": 99,
    "clients.1.digest": "0" * 64,
    "inputs.dataset": "mnist",
    "inputs.chosen": "random",
    "inputs.count": 3,
    "inputs.available": 91,
    "inputs.seed": 7,
    "inputs.digest": "f" * 64,
    "config.dataset": "mnist",
    "config.inputs": "random",
    "config.epsilon": [0.001, 0.01, 0.1],
    "config.radius": [],
    "config.hidden": [3],
    "config.network": "mlp:3",
    "config.margin": 0.1,
    "config.softmax_margins": [],
    "config.rule": "pog",
    "config.weights": "size",
    "config.confidence": 1,
    "config.confidence_draws": 10_000,
}


@pytest.mark.parametrize("place", EDITS)
def test_an_edited_claim_is_named_even_if_page_and_digests_are_made_anew(place: str, folder: Path) -> None:
    edit_result(folder, put(place, EDITS[place]))
    named = place.rsplit(".", 1) if place.startswith("conclusions") else [place]
    refused(folder, "result.json", *named)


@pytest.mark.parametrize(
    "name", ["transported-fedavg-projected-eps-0.01", "direct-fedavg-projected-radius-0.5"]
)
def test_a_claim_that_names_the_certificate_of_another_is_named(name: str, folder: Path) -> None:
    edit_result(folder, put("summary.0.certificate", f"{name}.safetensors"))
    refused(folder, "result.json", "summary.0.claim", name)
    refused(folder, "result.json", ".certificate", name, "is that of summary.0 already")
    refused(folder, "certificates/local-fedavg-projected-eps-0.001.safetensors", "additional")


@pytest.mark.parametrize(("place", "value"), [("summary.0.lower", 0.1), ("summary.2.upper", 1.0)])
def test_a_weaker_claim_than_the_certificates_is_another_claim(
    place: str, value: float, folder: Path
) -> None:
    edit_result(folder, put(place, value))
    refused(folder, "result.json", place, "but")


def test_a_bound_that_was_left_out_is_another_claim(folder: Path) -> None:
    edit_result(folder, put("summary.2.upper", None))
    refused(folder, "result.json", "summary.2.upper", "None, but")


WRONG = {
    "fedcert": 3,
    "config": [],
    "refused": {"a": 1},
    "accuracy": 1.5,
    "accuracy_by_rule": {"fedavg": "high"},
    "inputs.accuracy": -0.1,
    "norm": "l2",
    "estimates.0.value": 2,
    "estimates.0.confidence_interval": [1.0, 0.0],
    "timings": {"training": -1},
    "histograms": [[-1]],
    "summary.0.seconds": "long",
    "summary.0.reproved": "yes",
    "summary.0.lower": 1.1,
    "summary.0.certificate": "../other/direct.safetensors",
    "radii.0.mean": -1,
    "clients.0.digest": "00",
    "confidence": {},
    "conclusions": [1],
}


@pytest.mark.parametrize("place", WRONG)
def test_a_value_that_no_run_writes_is_not_readable(place: str, folder: Path) -> None:
    edit_result(folder, put(place, WRONG[place]), whole=False)
    refused(folder, "result.json", place, code=2)


@pytest.mark.parametrize("place", ["", "inputs", "summary.0", "radii.0", "clients.0", "estimates.0"])
def test_unknown_and_missing_fields_are_refused_by_name(place: str, folder: Path) -> None:
    def with_more(result: dict[str, Any]) -> None:
        own = result
        for name in place.split(".") if place else []:
            own = own[int(name) if name.isdigit() else name]
        own["guaranteed"] = True

    edit_result(folder, with_more, whole=False)
    refused(folder, "result.json", place, "'guaranteed'", code=2)
    edit_result(folder, lambda result: result.pop("guaranteed", None), whole=False)

    def with_less(result: dict[str, Any]) -> None:
        own = result
        for name in place.split(".") if place else []:
            own = own[int(name) if name.isdigit() else name]
        own.pop("guaranteed", None)
        own.pop(sorted(own)[-1])

    edit_result(folder, with_less, whole=False)
    refused(folder, "result.json", place, "missing", code=2)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not readable as JSON"),
        ("[]", "not an object"),
        ('{"a": 1, "a": 2}', "appears twice"),
        ('{"a": NaN}', "not a number"),
        ('{"a": 1e999}', "beyond all numbers"),
        ("\ufeff{}", "not readable as JSON"),
        ('{"inputs": ' * 60 + "1" + "}" * 60, "nested"),
        ('{"a":' * 100_000, "not readable as JSON"),
    ],
)
def test_a_result_that_readers_would_disagree_on_is_not_readable(
    text: str, complaint: str, folder: Path
) -> None:
    (folder / "result.json").write_text(text)
    refused(folder, "result.json", complaint, code=2)


def test_a_result_without_the_page_made_anew_is_noticed_by_its_digest(folder: Path) -> None:
    edit_result(folder, put("accuracy", 0.99), whole=False)
    refused(folder, "report.html", "fedcert-result")


@pytest.mark.parametrize("rows", ["summary", "radii", "clients"])
def test_a_removed_row_is_named(rows: str, folder: Path) -> None:
    edit_result(folder, lambda result: result[rows].pop(0))
    if rows == "clients":
        refused(folder, "result.json", "clients", "1 clients, but 2")
    else:
        refused(folder, "certificates/", "additional: no claim of result.json names it")
        refused(folder, "properties.csv", "line", "a claim that result.json does not make")


def test_a_repeated_row_is_named(folder: Path) -> None:
    edit_result(folder, lambda result: result["summary"].append(result["summary"][0]))
    refused(folder, "result.json", "summary.6", "the same claim as summary.0")
    refused(folder, "result.json", "summary.6.certificate", "is that of summary.0 already")


@pytest.mark.parametrize("place", [0, -1])
def test_a_conclusion_that_is_left_out_is_named(place: int, folder: Path) -> None:
    edit_result(folder, lambda result: result["conclusions"].pop(place))
    refused(folder, "result.json", "conclusions", "missing")


def test_a_conclusion_too_many_is_named(folder: Path) -> None:
    edit_result(folder, lambda result: result["conclusions"].append(result["conclusions"][0]))
    refused(folder, "result.json", "conclusions.", "additional")


@pytest.mark.parametrize("name", ["properties.csv", "properties.json", "report.html"])
def test_a_file_that_is_missing_or_no_text_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()
    refused(folder, f"{name}: missing")
    (folder / name).write_bytes(b"\xff\xfe\x00")
    refused(folder, name, "not readable", code=2)
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, name, code=2)


def test_without_result_json_nothing_else_may_make_claims(folder: Path) -> None:
    (folder / "result.json").unlink()
    refused(folder, "result.json: missing, but there is properties.csv and")
    for name in ("properties.csv", "properties.json", "report.html"):
        (folder / name).unlink()
    report = check_run(folder)
    assert (report.exit_code, lines(report)) == (0, [])
    assert "the certificates stand alone" in report.comparison.notes[0]
    proved = "proved: 8 certificates; 1 confidence bound found again"
    assert last_line(report) == f"{proved}; nothing else was compared"


def test_a_result_cannot_pass_for_one_of_an_earlier_version(folder: Path) -> None:
    def earlier(result: dict[str, Any]) -> None:
        for name in ("inputs", "norm", "margins", "radii", "confidence", "conclusions"):
            del result[name]
        for row in result["summary"]:
            del row["certificate"]

    edit_result(folder, earlier, whole=False)
    refused(folder, "result.json: inputs: missing")


def leaves(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all values below a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [below for key, own in items for below in [(*way, key), *leaves(own, (*way, key))]]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=5,
)


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
@pytest.mark.usefixtures("without_annotations")
def test_random_edits_are_refused_and_never_a_crash(
    pristine: Path, tmp_path: Path, data: st.DataObject
) -> None:
    """Whatever stands in result.json: a line, and no claim that a certificate does not prove."""
    folder = tmp_path / "run"
    if not folder.exists():
        shutil.copytree(pristine, folder)
    result = json.loads((pristine / "result.json").read_text())
    way = data.draw(st.sampled_from(leaves(result)))
    own: Any = result
    for name in way[:-1]:
        own = own[name]
    before, own[way[-1]] = own[way[-1]], data.draw(JSON)
    (folder / "result.json").write_text(json.dumps(result))
    report = RunReport(folder, (), compare(folder, *evidence()))
    same = type(before) is type(own[way[-1]]) and before == own[way[-1]]
    assert (report.exit_code == 0) <= same
    assert all(line.isprintable() for line in lines(report))
