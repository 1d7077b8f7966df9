"""The files of a run say what its certificates say, number by number."""

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from report_samples import result as by_hand
from small_runs import small_config

from fedcert.app.output import carry_out
from fedcert.app.proofs import Drawn, ProvenRadii
from fedcert.app.run import RunResult, run
from fedcert.app.summary import HEADER, describe_properties, identity_of, properties_table, summarise
from fedcert.certificate import Certificate, Claim
from fedcert.confidence import ConfidenceBound
from fedcert.federation.radius import CertifiedRadii
from fedcert.wire.certificate_file import load_certificate
from fedcert_check.confidence.files import read as read_confidence
from fedcert_check.digest import digest

CONFIG = small_config(
    events=("projected",),
    epsilon=(0.001, 0.05),
    radius=(0.5,),
    softmax_margins=(1.0,),
    confidence_draws=10,
    inputs="random",
    seed=3,
)
PARTS = ("summary", "margins", "radii", "confidence")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("fedcert.federation.radius.SMALLEST_RADIUS", 0.125)
        monkeypatch.setattr("fedcert.federation.radius.STEPS", 1)
        place = tmp_path_factory.mktemp("summary") / "run"
        carry_out(lambda once: run(CONFIG, once=once), place, identity_of(CONFIG))
    return place


def read(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def table(folder: Path) -> list[dict[str, str]]:
    return rows_of((folder / "properties.csv").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_every_row_names_a_file_and_every_file_has_one_row(folder: Path) -> None:
    content = read(folder)
    named = [
        f"{'confidence' if part == 'confidence' else 'certificates'}/{row['certificate']}"
        for part in PARTS
        for row in content[part]
    ]
    there = [
        f"{place}/{path.name}"
        for place in ("certificates", "confidence")
        for path in (folder / place).iterdir()
    ]
    assert sorted(named) == sorted(there)
    assert [len(content[part]) for part in PARTS] == [8, 2, 1, 2]
    assert not any(row["reproved"] for part in PARTS for row in content[part])


@pytest.mark.slow
def test_result_json_says_what_the_certificates_say(folder: Path) -> None:
    content = read(folder)
    for part in ("summary", "margins"):
        for row in content[part]:
            saved = load_certificate(folder / "certificates" / row["certificate"])
            certificate, subject = saved.certificate, saved.properties.subject
            assert subject is not None
            claim = Claim(row["claim"], row["rule"], row["events"])
            assert (claim, row["properties"]) == (certificate.claim, len(certificate.lower))
            assert (row["lower"], row["upper"]) == (certificate.mean_lower, certificate.mean_upper)
            assert subject.radius.unique().tolist() == [row["epsilon"]]
            assert subject.margin == row.get("margin", 0.0)
            assert subject.origin.chosen == content["inputs"]["chosen"] == "random"
            assert subject.origin.available == content["inputs"]["available"] == 80
            assert subject.origin.seed == content["inputs"]["seed"] == 3
            named = digest({}, {"inputs": subject.inputs.numpy(), "labels": subject.labels.numpy()})
            assert named == content["inputs"]["digest"]
    (row,) = content["radii"]
    saved = load_certificate(folder / "certificates" / row["certificate"])
    assert saved.properties.subject is not None
    radii = saved.properties.subject.radius
    assert (saved.certificate.lower[radii > 0] >= row["threshold"]).all()
    assert row["mean"] <= radii.mean().item() == pytest.approx(row["mean"])
    assert row["median"] == radii.median()


@pytest.mark.slow
def test_confidence_rows_say_what_their_files_say(folder: Path) -> None:
    for row in read(folder)["confidence"]:
        document = read_confidence(folder / "confidence" / row["certificate"], folder / "messages")
        assert (row["rule"], row["draws"], row["properties"]) == ("fedavg", 10, 3)
        assert row["confidence"] == pytest.approx(0.95)
        own = [
            line
            for line in table(folder)
            if line["claim"] == "confidence" and float(line["epsilon"]) == row["epsilon"]
        ]
        assert [float(line["lower"]) for line in own] == document.lower.tolist()
        assert [float(line["upper"]) for line in own] == document.upper.tolist()
        assert row["lower"] <= document.lower.mean() <= document.upper.mean() <= row["upper"]


@pytest.mark.slow
def test_properties_csv_says_what_the_certificates_say_of_each_input(folder: Path) -> None:
    content, lines = read(folder), table(folder)
    entries = json.loads((folder / "properties.json").read_text(encoding="utf-8"))
    assert list(lines[0]) == list(HEADER)
    assert len(lines) == 3 * (8 + 1 + 2), "margins are in result.json alone"
    for part, threshold in (("summary", ""), ("radii", "0.5")):
        for row in content[part]:
            saved = load_certificate(folder / "certificates" / row["certificate"])
            certificate, subject = saved.certificate, saved.properties.subject
            assert subject is not None
            own = [
                line
                for line in lines
                if all(line[key] == row[key] for key in ("claim", "rule", "events"))
                and line["threshold"] == threshold
                and (part == "radii" or float(line["epsilon"]) == row["epsilon"])
            ]
            assert [int(line["property"]) for line in own] == [0, 1, 2]
            assert [int(line["input"]) for line in own] == subject.indices.tolist()
            assert [int(line["label"]) for line in own] == subject.labels.tolist()
            assert [float(line["epsilon"]) for line in own] == subject.radius.tolist()
            assert [float(line["lower"]) for line in own] == certificate.lower.tolist()
            uppers = [None] * 3 if certificate.upper is None else certificate.upper.tolist()
            assert [float(line["upper"]) if line["upper"] else None for line in own] == uppers
    assert [entry["index"] for entry in entries] == [int(line["input"]) for line in lines[:3]]


def with_radii(radii: list[float]) -> RunResult:
    certificate = Certificate(Claim("direct", "fedavg", "projected"), torch.ones(len(radii)).double())
    found = CertifiedRadii(torch.tensor(radii, dtype=torch.float64), certificate)
    return replace(by_hand(), radii=[ProvenRadii(found, 0.5, "certificates/r.safetensors", 2.0)])


@pytest.mark.parametrize("radii", [[0.1, 0.2], [0.0, 0.3], [1 / 3, 0.1]])
def test_the_means_of_radii_are_never_rounded_up(radii: list[float]) -> None:
    """The checker refuses a mean above the exact one."""
    (row,) = summarise(with_radii(radii), {})["radii"]
    exact = sum(map(Fraction, radii)) / 2
    for value in (row["mean"], row["median"]):
        assert Fraction(value) <= exact
        assert value == pytest.approx(float(exact), rel=1e-15)
    assert (row["threshold"], row["properties"], row["certificate"]) == (0.5, 2, "r.safetensors")


def test_what_the_checker_said_stands_beside_each_certificate() -> None:
    run = by_hand(epsilon=(0.001, 0.01))
    said = {one.file: i % 2 == 0 for i, one in enumerate(run.proven)}
    rows = summarise(run, said)["summary"]
    assert [row["reproved"] for row in rows] == [True, False, True, False, True, False]
    assert all(not row["reproved"] for row in summarise(run, {})["summary"])


def test_rows_of_radii_and_of_confidence_bounds_are_told_apart_in_the_table() -> None:
    run = with_radii([0.125, 0.0])
    counts = torch.tensor([30, 40])
    lower, upper = torch.tensor([[0.5, 0.25], [1.0, 0.75]]).double()
    bound = ConfidenceBound("fedavg", lower, upper, counts, 0 * counts, 40, 0.05, "ab" * 32)
    run = replace(run, drawn=[Drawn(bound, 0.001, "confidence/c.safetensors", 1.0)])
    *_, near, far, first, second = rows_of(properties_table(run))
    assert [near[key] for key in ("property", "epsilon", "threshold", "claim")] == [
        "0",
        "0.125",
        "0.5",
        "direct",
    ]
    assert (far["epsilon"], far["threshold"], far["label"]) == ("0.0", "0.5", "7")
    about = ["0", "0", "3", "0.001", "", "confidence", "fedavg", "", "0.5", "1.0"]
    assert list(first.values()) == [*about, "linf", run.inputs.origin.chosen]
    assert (second["lower"], second["upper"]) == ("0.25", "0.75")
    (row,) = summarise(run, {})["confidence"]
    assert (row["proven"], row["broken"], row["certificate"]) == (70 / 80, 0.0, "c.safetensors")
    assert [entry["radii"] for entry in describe_properties(run)] == [[0.125], [0.0]]


def test_every_float_of_the_table_is_read_back_exactly() -> None:
    run = with_radii([1 / 3, 0.1])
    radii = [float(row["epsilon"]) for row in rows_of(properties_table(run)) if row["threshold"]]
    assert radii == [1 / 3, 0.1]
