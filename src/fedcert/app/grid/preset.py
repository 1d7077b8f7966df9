"""A grid as data: a TOML file of studies, each a product of lists of settings."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from fedcert.app.architecture import overriding
from fedcert.app.config import setting_names
from fedcert.app.grid.job import Job
from fedcert.app.spelling import require_known, suggestion, underscored
from fedcert.errors import InvalidConfig

PARTS = ("title", "settings", "study")
FOLDER = resources.files("fedcert.app.grid") / "presets"


@dataclass(frozen=True)
class Study:
    """Runs that differ in some settings.

    Attributes:
        settings: the settings that all runs share.
        over: the values of each setting that varies; all combinations are run.
    """

    settings: Mapping[str, Any]
    over: Mapping[str, Sequence[Any]]

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The settings of each run."""
        for values in itertools.product(*self.over.values()):
            yield overriding(self.settings, dict(zip(self.over, values, strict=True)))


@dataclass(frozen=True)
class Grid:
    """Several studies.

    Attributes:
        title: what the studies are about.
        studies: the studies, in order.
    """

    title: str
    studies: tuple[Study, ...]

    def jobs(self, overrides: Mapping[str, Any] | None = None, seeds: int | None = None) -> list[Job]:
        """Every run of the grid, once each.

        Args:
            overrides: settings that take precedence over the grid's own.
            seeds: number of seeds to run everything with, from 0; None for the grid's own seeds.
        """
        repeated = [{}] if seeds is None else [{"seed": seed} for seed in range(seeds)]
        jobs = [
            Job.of(overriding(settings, {**(overrides or {}), **seed}))
            for seed in repeated
            for study in self.studies
            for settings in study.combinations()
        ]
        return list({job.name: job for job in jobs}.values())


def presets() -> list[str]:
    """The names of the grids that ship with the package."""
    return sorted(Path(file.name).stem for file in FOLDER.iterdir() if file.name.endswith(".toml"))


def load_grid(preset: str) -> Grid:
    """A grid that ships with the package, or one in a file.

    Args:
        preset: the name of a grid, or the path of a TOML file.
    """
    if preset in presets():
        text = (FOLDER / f"{preset}.toml").read_text(encoding="utf-8")
    elif Path(preset).suffix == ".toml":
        try:
            text = Path(preset).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InvalidConfig(f"{preset}: not a readable grid ({error})") from error
    else:
        raise InvalidConfig(
            f"preset: {', '.join(presets())} or a TOML file (given {preset!r}); the paper's grid is"
            " reproduction/paper.toml in fedcert's repository, where `make reproduce` runs it"
        )
    try:
        return parse_grid(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, InvalidConfig) as error:
        raise InvalidConfig(f"{preset}: {error}") from error


def parse_grid(content: Mapping[str, Any]) -> Grid:
    """The grid that a TOML file describes.

    Args:
        content: the content of the file: a title, settings for all runs, and studies.
    """
    for key in content.keys() - PARTS:
        raise InvalidConfig(f"a grid has no {key!r}: {suggestion(key, PARTS)}")
    title, shared, studies = content.get("title", ""), content.get("settings", {}), content.get("study", [])
    if not isinstance(title, str) or not isinstance(shared, dict):
        raise InvalidConfig("the title of a grid must be a string, and its settings a table")
    if not isinstance(studies, list) or not all(isinstance(study, dict) for study in studies):
        raise InvalidConfig("the studies of a grid must be tables: [[study]]")
    require_known(shared, setting_names(), "settings")
    return Grid(title, tuple(_study(underscored(shared), study) for study in studies or [{}]))


def _study(shared: Mapping[str, Any], study: Mapping[str, Any]) -> Study:
    require_known(study, setting_names() | {"over": ()}, "study")
    over = study.get("over", {})
    if not isinstance(over, dict) or not all(isinstance(values, list) and values for values in over.values()):
        raise InvalidConfig("over: a study varies settings given as lists, such as over.clients = [2, 3]")
    require_known(over, setting_names(), "study.over")
    own = {key: value for key, value in study.items() if key != "over"}
    return Study(overriding(shared, underscored(own)), underscored(over))
