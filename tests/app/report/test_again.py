"""The page of a run can be made anew from its files, to the letter."""

import json
from pathlib import Path

import pytest
from small_runs import small_config

from fedcert.app.output import carry_out
from fedcert.app.report.again import page_again
from fedcert.app.report.seal import OPEN, sealed
from fedcert.app.run import run
from fedcert.app.summary import identity_of
from fedcert_check import check_run
from fedcert_check.sampling import Sample


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = small_config(
        properties=2, hidden=[4], events=["projected"], claims=["direct"], compare=[], epsilon=[0.001],
        attack_samples=2,
    )  # fmt: skip
    place = tmp_path_factory.mktemp("run") / "run"
    carry_out(lambda once: run(config, once=once), place, identity_of(config))
    return place


@pytest.mark.slow
def test_a_page_is_made_anew_to_the_letter(folder: Path) -> None:
    assert page_again(folder) == (folder / "report.html").read_text()


@pytest.mark.slow
def test_an_edit_of_the_words_is_noticed_though_the_page_was_sealed_again(folder: Path) -> None:
    path = folder / "report.html"
    page = path.read_text()
    (own,) = [
        part for part in page.split('"') if sealed(page.replace(part, OPEN, 1)) == page and len(part) == 64
    ]
    try:
        path.write_text(sealed(page.replace(own, OPEN, 1).replace("least proven", "most proven")))
        assert check_run(folder, sample=Sample(1, 0)).exit_code == 0, (
            "its bounds, sentences and digests agree"
        )
        report = check_run(folder, sample=Sample(1, 0), make_page=page_again)
    finally:
        path.write_text(page)
    assert report.exit_code == 1
    assert [own.file for own in report.comparison.findings] == ["report.html"]


@pytest.mark.slow
def test_pages_of_other_versions_are_not_guessed(folder: Path) -> None:
    path = folder / "result.json"
    text = path.read_text()
    try:
        path.write_text(json.dumps(json.loads(text) | {"fedcert": "0.0.9"}))
        assert page_again(folder) is None
    finally:
        path.write_text(text)
