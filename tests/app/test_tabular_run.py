"""Whole runs with measurements: hospitals and a user's own table, checked."""

import csv
import json
from pathlib import Path

import pytest

from fedcert.app.cli import main
from fedcert.app.config import load_config
from fedcert.app.data_settings import table_settings
from fedcert.app.output import carry_out
from fedcert.app.report.measurement_tables import by_client, inputs
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.write import write_report
from fedcert.app.result import read_properties, read_summary
from fedcert.app.run import run
from fedcert.app.summary import identity_of
from fedcert_check import check_run

QUICK = {"claims": "direct", "attack_samples": 3, "training": {"epochs": 2}}


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "hospitals"
    settings = {"dataset": "heart-disease", "properties": 3, "hidden": "3"}
    config = load_config(None, settings | QUICK | {"confidence_draws": 20})
    carry_out(lambda once: run(config, once=once), folder, identity_of(config))
    return folder


def finished(folder: Path) -> FinishedRun:
    summary = read_summary(folder)
    return FinishedRun(summary, read_properties(folder, summary))


@pytest.mark.slow
def test_hospitals_are_certified_in_units_of_measurement(hospitals: Path) -> None:
    summary = finished(hospitals).summary
    assert [own["client"] for own in summary["clients"]] == [
        "Cleveland", "Hungarian", "Switzerland", "VA-Long-Beach"
    ]  # fmt: skip
    assert [own["examples"] for own in summary["clients"]] == [199, 172, 30, 85]
    assert [own["examples"] for own in summary["accuracy_by_client"]] == [104, 89, 16, 45]
    whole = sum(own["examples"] * own["accuracy"] for own in summary["accuracy_by_client"]) / 254
    assert whole == pytest.approx(summary["accuracy"])
    assert summary["norm"] == "weighted-linf"
    sentences = [own["sentence"] for own in summary["conclusions"] if own["name"] == "expected-accuracy"]
    assert (
        "measurement error × 1 (trestbps ± 5 mmHg, chol ± 5 %, thalach ± 5 bpm, oldpeak ± 0.1 mm;"
        in sentences[1]
    )
    rows = list(csv.DictReader((hospitals / "properties.csv").read_text().splitlines()))
    assert {row["norm"] for row in rows} == {"weighted-linf"}
    report = check_run(hospitals)
    assert report.exit_code == 0
    assert "trestbps ± 10 mmHg" in " ".join(own.document.subject.describe() for own in report.reports)


@pytest.mark.slow
def test_the_page_shows_patients_as_rows_and_accuracy_by_hospital(hospitals: Path) -> None:
    shown = finished(hospitals)
    patients, each = inputs(shown), by_client(shown)
    names = [column.name for column in patients.columns]
    assert names[:6] == ["input", "client", "class", "× 0", "× 1", "× 2"]
    assert "trestbps, mmHg" in names
    first = dict(zip(names, next(row for row in patients.rows if row[0] == 0), strict=True))
    assert (first["age, years"].text, first["trestbps, mmHg"].text, first["chol, mg/dl"].text) == (
        "56", "120 ± 5", "236 ± 11.8"
    )  # fmt: skip
    assert [row[0] for row in each.rows] == ["Cleveland", "Hungarian", "Switzerland", "VA-Long-Beach"]
    page = (hospitals / "report.html").read_text()
    for text in ("120 ± 5", "at measurement error × 1", "Accuracy by client", "Class 1: diagnosed"):
        assert text in page
    assert "<img" not in page
    assert "ℓ<sub>∞</sub>" not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "edit", "place"),
    [
        ("result.json", lambda own: own["features"][2].update(scale=8.0), "features"),
        ("result.json", lambda own: own.pop("features"), "features"),
        ("result.json", lambda own: own.update(norm="linf"), "norm"),
        ("result.json", lambda own: own["accuracy_by_client"][0].update(accuracy=1.5), "accuracy_by_client"),
        ("properties.json", lambda own: own[1]["row"]["values"].__setitem__(2, 119.0), "1.row.values"),
        ("properties.json", lambda own: own[1]["row"]["errors"].__setitem__(2, 50.0), "1.row.errors"),
        ("properties.json", lambda own: own[1].pop("row"), "1"),
    ],
)
def test_edited_measurements_disagree(
    hospitals: Path, tmp_path: Path, file: str, edit: object, place: str
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for part in hospitals.iterdir():
        (copy / part.name).symlink_to(part)
    content = json.loads((hospitals / file).read_text())
    edit(content)
    (copy / file).unlink()
    (copy / file).write_text(json.dumps(content))
    report = check_run(copy)
    assert report.exit_code in (1, 2)
    comparison = report.comparison
    said = [*(finding.line for finding in comparison.findings), *comparison.unreadable]
    assert any(f"{file}: {place}" in line for line in said), said


@pytest.mark.slow
def test_a_grid_report_takes_runs_without_pictures(hospitals: Path, tmp_path: Path) -> None:
    write_report([hospitals], tmp_path, "fedcert report")
    assert (tmp_path / "report.html").read_text().count("heart-disease")


@pytest.mark.slow
def test_a_users_table_is_certified_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{100 + i},{i % 5}.5,{('north', 'south')[i % 2]},{int(i > 11)}\n" for i in range(24))
    (tmp_path / "wards.csv").write_text("bp,dose,ward,ill\n" + rows + "?,1,north,0\n")
    (tmp_path / "errors.toml").write_text('bp = "5 mmHg"\n')
    arguments = [
        *("fedcert", "run", "--data", "wards.csv", "--target", "ill", "--client-column", "ward"),
        *("--errors", "errors.toml", "--missing", "drop", "--epsilon", "1", "--hidden", "3"),
        *("--claims", "direct", "--estimates", "", "--out", "out"),
    ]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    said = capsys.readouterr()
    assert "1 rows with missing values were left out, 24 are used" in said.err
    assert "measurement error × 1 (bp ± 5 mmHg; all else" in " ".join(said.out.split())
    assert check_run(tmp_path / "out").exit_code == 0
    again = load_config(tmp_path / "out" / "result.json", {})
    settings = {"data": Path("wards.csv"), "target": "ill", "client_column": "ward", "missing": "drop"}
    assert again.table.sha256 == load_config(None, table_settings(settings)).table.sha256
