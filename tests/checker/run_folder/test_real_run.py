"""A run as `fedcert run` makes it: all that its files claim follows from its certificates."""

import shutil
from pathlib import Path

import pytest
from run_folders import edit_result
from small_runs import small_config

from fedcert.app.output import carry_out
from fedcert.app.run import run
from fedcert.app.summary import identity_of
from fedcert_check import check_run
from fedcert_check.run_folder.page import PAGE
from fedcert_check.sampling import Sample

CONFIG = small_config(
    properties=2,
    hidden=[4],
    events=["projected"],
    claims=["transported", "direct"],
    compare=[],
    epsilon=[0.001, 0.01],
    softmax_margins=[0.5],
    confidence_draws=20,
    attack_samples=2,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("real") / "run"
    carry_out(lambda once: run(CONFIG, once=once), place, identity_of(CONFIG))
    return place


@pytest.mark.slow
def test_a_run_is_proved_and_agrees_with_its_certificates(folder: Path) -> None:
    report = check_run(folder)
    assert [own.reason for own in report.refused] == []
    assert [own.line for own in report.comparison.findings] == []
    assert report.comparison.unreadable == ()
    assert report.verdict == "proved"
    assert len(report.recounted) == 2
    assert len(report.reports) == 2 * 2 + 2


@pytest.mark.slow
def test_a_run_that_was_edited_does_not(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    edit_result(copy, lambda result: result["conclusions"][0].update(value=1.0), whole=False)
    lines = [own.line for own in check_run(copy, sample=Sample(1, 0)).comparison.findings]
    assert any(line.startswith("result.json: conclusions.0: ") for line in lines)
    assert any(line.startswith(f"{PAGE}: fedcert-result: ") for line in lines)
