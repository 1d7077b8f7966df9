from pathlib import Path
from typing import Any

import pytest

from fedcert.app.grid.preset import Grid, Study, load_grid, parse_grid, presets
from fedcert.errors import InvalidConfig


def settings(grid: Grid, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(job.config, name) for name in names) for job in grid.jobs()]


def test_a_study_is_the_product_of_its_lists() -> None:
    grid = parse_grid({"study": [{"clients": 4, "over": {"hidden": [[8], [4, 4]], "seed": [0, 1]}}]})
    expected = [(4, (8,), 0), (4, (8,), 1), (4, (4, 4), 0), (4, (4, 4), 1)]
    assert settings(grid, "clients", "hidden", "seed") == expected


def test_a_study_goes_before_the_shared_settings_and_overrides_before_both() -> None:
    grid = parse_grid({"settings": {"mc-samples": 7, "clients": 9}, "study": [{"clients": 2}]})
    assert settings(grid, "mc_samples", "clients") == [(7, 2)]
    (job,) = grid.jobs({"clients": 5})
    assert job.config.clients == 5


def test_a_run_of_two_studies_is_one_job() -> None:
    studies = [{"over": {"clients": [2, 3]}}, {"over": {"seed": [0, 1]}, "clients": 3}]
    assert settings(parse_grid({"study": studies}), "clients", "seed") == [(2, 0), (3, 0), (3, 1)]


def test_seeds_repeat_everything() -> None:
    grid = Grid("", (Study({}, {"clients": [2, 3]}),))
    assert [(job.config.clients, job.config.seed) for job in grid.jobs(seeds=2)] == [
        *[(2, 0), (3, 0)],
        *[(2, 1), (3, 1)],
    ]


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_a_grid(name: str) -> None:
    assert load_grid(name).jobs()


def test_a_grid_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[[study]]\nover.clients = [2, 7]\n", encoding="utf-8")
    assert settings(load_grid(str(file)), "clients") == [(2,), (7,)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[study]]\nover.clients = 3", "over"),
        ("[[study]]\nover.clients = []", "over"),
        ("study = 3", "studies"),
        ("title = 3", "title"),
        ("sets = 3", "sets"),
        ("[", "mine.toml"),
    ],
)
def test_a_malformed_grid_is_refused_by_name(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidConfig, match=problem):
        load_grid(str(file))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[setings]\nclients = 2", "a grid has no 'setings': did you mean 'settings'?"),
        ("[settings]\nclient = 2", "no setting 'client' in [settings]: did you mean 'clients'?"),
        (
            "[settings.training]\nepoch = 2",
            "no setting 'epoch' in [settings.training]: did you mean 'epochs'?",
        ),
        ("[[study]]\nhiden = [8]", "no setting 'hiden' in [study]: did you mean 'hidden'?"),
        ("[[study]]\novr.clients = [2]", "no setting 'ovr' in [study]: did you mean 'over'?"),
        ("[[study]]\nover.sed = [2]", "no setting 'sed' in [study.over]: did you mean 'seed'?"),
    ],
)
def test_a_misspelt_name_is_refused_with_the_nearest_one(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidConfig) as error:
        load_grid(str(path))
    assert str(error.value) == f"{path}: {problem}"


@pytest.mark.parametrize("study", [{"colour": 1}, {"over": {"clients": [2, 0]}}])
def test_a_setting_that_makes_no_sense_is_refused(study: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfig, match=next(iter(study.get("over", study)))):
        parse_grid({"study": [study]}).jobs()


@pytest.mark.parametrize("preset", ["no-such-preset", "missing.toml"])
def test_an_unknown_preset_is_refused(preset: str) -> None:
    with pytest.raises(InvalidConfig, match=preset):
        load_grid(preset)


def test_who_looks_for_the_papers_grid_is_told_where_it_is() -> None:
    with pytest.raises(InvalidConfig, match=r"miniature.*reproduction/paper\.toml.*make reproduce"):
        load_grid("paper")
