import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from report_samples import files, result
from small_grids import tiny

from fedcert import __version__
from fedcert.app.grid.folder import GridFolder
from fedcert.app.parts import POSTERIOR, Posterior
from fedcert.errors import InvalidConfig
from fedcert.laws import DiagonalGaussian


@pytest.fixture
def folder(tmp_path: Path) -> GridFolder:
    return GridFolder(tmp_path)


SUMMARY, PROPERTIES = files(replace(result(), config=tiny().config))


def put(folder: GridFolder, summary: object, properties: object = PROPERTIES) -> None:
    path = folder.job(tiny())
    path.mkdir(parents=True)
    for name, content in (("result.json", summary), ("properties.json", properties)):
        text = content if isinstance(content, str) else json.dumps(content)
        (path / name).write_text(text, encoding="utf-8")


def test_a_job_is_done_when_it_has_its_result(folder: GridFolder) -> None:
    assert not folder.done(tiny())
    put(folder, SUMMARY)
    assert folder.done(tiny())
    assert folder.done(tiny(data_dir="elsewhere"))


@pytest.mark.parametrize(
    "content",
    [
        "{",
        [],
        {},
        {"fedcert": __version__, "config": SUMMARY["config"]},
        {key: value for key, value in SUMMARY.items() if key != "fedcert"},
        {key: value for key, value in SUMMARY.items() if key != "histograms"},
        SUMMARY | {"config": 3},
        SUMMARY | {"accuracy": 2.0},
        SUMMARY | {"fedcert": "0.0.0"},
        SUMMARY | {"config": tiny(seed=1).config.model_dump(mode="json")},
    ],
)
def test_another_result_is_not_its_own(folder: GridFolder, content: object) -> None:
    put(folder, content)
    assert not folder.done(tiny())


@pytest.mark.parametrize("properties", ["{", [], PROPERTIES[:1], [{**PROPERTIES[0], "bounds": []}] * 2])
def test_a_job_whose_properties_are_damaged_is_not_done(folder: GridFolder, properties: Any) -> None:
    put(folder, SUMMARY, properties)
    assert not folder.done(tiny())


def test_parts_are_made_once_and_shared(folder: GridFolder) -> None:
    made = []

    def make() -> Posterior:
        made.append(1)
        exact = torch.tensor([0.5, 0.25], dtype=torch.float64)
        return Posterior(DiagonalGaussian(exact, exact), 3.0)

    for job in (tiny(), tiny(scale=1e-3), tiny(events="box")):
        part = folder.once(job, "posteriors/client-0.safetensors", make, POSTERIOR)
        assert part.seconds == 3.0
        assert part.law.loc.tolist() == [0.5, 0.25]
    assert len(made) == 1
    assert not folder.trained(tiny())
    folder.once(tiny(), "posteriors/client-1.safetensors", make, POSTERIOR)
    assert folder.trained(tiny(scale=1e-3))
    assert not folder.trained(tiny(seed=1))


def test_a_part_that_cannot_be_read_is_made_again(folder: GridFolder) -> None:
    exact = torch.ones(2, dtype=torch.float64)
    name = "posteriors/client-0.safetensors"
    folder.once(tiny(), name, lambda: Posterior(DiagonalGaussian(exact, exact), 1.0), POSTERIOR)
    (file,) = folder.path.rglob("client-0.safetensors")
    file.write_bytes(b"nothing of the kind")
    again = folder.once(tiny(), name, lambda: Posterior(DiagonalGaussian(exact, exact), 2.0), POSTERIOR)
    assert again.seconds == 2.0


def test_a_machine_that_does_not_see_the_folder_does_no_work(folder: GridFolder) -> None:
    with pytest.raises(InvalidConfig, match="all nodes share"):
        folder.require()
    folder.begin("a grid", [tiny()])
    folder.require()
    assert json.loads((folder.path / "grid.json").read_text(encoding="utf-8"))["jobs"] == [tiny().name]


def test_failures_are_kept_and_forgotten(folder: GridFolder) -> None:
    folder.note_failure(tiny(), "too bad")
    assert (folder.job(tiny()) / "error.txt").read_text(encoding="utf-8") == "too bad"
    folder.forget_failure(tiny())
    folder.forget_failure(tiny())
    assert not (folder.job(tiny()) / "error.txt").exists()
