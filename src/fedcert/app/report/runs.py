"""Finished runs: the contents of their files, indexed by claim and by estimate."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fedcert.app.config import TRAINING_SETTINGS
from fedcert.app.journal import RESULT
from fedcert.app.records import Property, Row, Summary
from fedcert.app.report.bounds import Bounds
from fedcert.app.report.words import DATASET_NAMES, architecture, distinct, is_convolutional
from fedcert.app.result import claim_at, claim_of, read_properties, read_summary
from fedcert.errors import NoResults

JOBS = "jobs"
IMMATERIAL = frozenset({"data_dir", "device", "events", "claims"})
"""Settings that do not tell federations apart: where a run was made, and what was claimed about it."""


@dataclass(frozen=True)
class FinishedRun:
    """The contents of a finished run's files.

    Attributes:
        summary: the content of its result.json.
        properties: the content of its properties.json.
        link: the path of the run's own report, relative to the new report; empty if there is none.
    """

    summary: Summary
    properties: Sequence[Property]
    link: str = ""

    @property
    def config(self) -> dict[str, Any]:
        """All settings of the run."""
        return self.summary["config"]

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return str(self.config["dataset"])

    @property
    def architecture(self) -> str:
        """The network in words, such as 1×64, 2×64 or cnn:8,16/32."""
        return architecture(self.config)

    @property
    def clients(self) -> int:
        """The number of clients in the configuration."""
        return int(self.config["clients"])

    @property
    def concentration(self) -> float:
        """The concentration of the Dirichlet partition; infinite where the data say whose each example is."""
        given = self.config["concentration"]
        return math.inf if given is None else float(given)

    @property
    def scale(self) -> float | str:
        """The posterior scale: a number, or the word 'learned'."""
        scale: float | str = self.config["scale"]
        return scale

    @property
    def radii(self) -> list[float]:
        """The radii that claims are made for, in the order of the configuration."""
        radii: list[float] = self.config["epsilon"]
        return radii

    @property
    def epsilon(self) -> float:
        """The first radius, which tables show where there is room for one only."""
        return self.radii[0]

    @cached_property
    def claims(self) -> dict[tuple[str, str, str], Row]:
        """What is proven at the first radius, by kind, rule and events."""
        return self.claims_at(self.epsilon)

    def claims_at(self, epsilon: float) -> dict[tuple[str, str, str], Row]:
        """What is proven at one radius, by kind, rule and events.

        Args:
            epsilon: the radius.
        """
        return {claim_of(row): row for row in self.summary["summary"] if row["epsilon"] == epsilon}

    def estimate(self, name: str, epsilon: float | None = None) -> dict[str, float]:
        """The values of an estimate by rule.

        Args:
            name: the name of the estimate, such as "mc-ibp".
            epsilon: the radius; the first one where None.
        """
        radius = self.epsilon if epsilon is None else epsilon
        asked = [row for row in self.summary["estimates"] if (row["name"], row["epsilon"]) == (name, radius)]
        return {row["rule"]: row["value"] for row in asked}

    @property
    def strongest(self) -> Row | None:
        """The strongest claim about the deployed model at the first radius; None if there is none."""
        return self.strongest_at(self.epsilon)

    def strongest_at(self, epsilon: float) -> Row | None:
        """The claim about the deployed model at one radius with the largest L; None if there is none.

        Of several that show the same L, the one with the least U.

        Args:
            epsilon: the radius.
        """
        rule, claims = self.config["rule"], self.claims_at(epsilon)
        deployed = [row for (kind, of, _), row in claims.items() if kind != "local" and of == rule]
        return max(deployed, key=lambda row: Bounds.of(row, {}).strength, default=None)

    @property
    def selected(self) -> bool:
        """Whether inputs were selected for being classified correctly, so that no bound is an accuracy."""
        return self.summary["inputs"]["chosen"] == "correct"


def read_runs(folders: Sequence[Path], out: Path) -> list[FinishedRun]:
    """The finished runs in some folders, each once.

    Args:
        folders: the folders of grids, of shards of grids, or of single runs.
        out: the folder of the report that links to the runs' own reports.
    """
    found: dict[str, FinishedRun] = {}
    for place in (place for folder in folders for place in _places(folder)):
        summary = read_summary(place)
        properties = read_properties(place, summary)
        report = place / "report.html"
        link = quote(os.fsencode(os.path.relpath(report, out))) if report.exists() and place != out else ""
        found.setdefault(
            json.dumps(summary["config"], sort_keys=True), FinishedRun(summary, properties, link)
        )
    return list(found.values())


def merged(runs: Iterable[FinishedRun]) -> list[FinishedRun]:
    """Every federation once, in the order of settings; runs that differ in events or claims are combined."""
    found: dict[str, FinishedRun] = {}
    for run in runs:
        identity = _identity(run)
        found[identity] = _together(found[identity], run) if identity in found else run
    return sorted(found.values(), key=lambda run: (order(run), _identity(run)))


def federations(runs: Iterable[FinishedRun]) -> list[FinishedRun]:
    """One run of each federation that was trained; several runs may share its clients."""
    found = {json.dumps({key: run.config.get(key) for key in sorted(TRAINING_SETTINGS)}): run for run in runs}
    return list(found.values())


def order(run: FinishedRun) -> tuple[object, ...]:
    """A sort key: architecture, data set, clients, concentration, scale (learned ones last) and seed."""
    scale = math.inf if isinstance(run.scale, str) else run.scale
    place = [*DATASET_NAMES, run.dataset].index(run.dataset)
    widths = tuple(run.config["hidden"])
    convolutional = is_convolutional(run.config)
    return (
        convolutional,
        run.architecture if convolutional else "",
        len(widths),
        widths,
        place,
        run.dataset,
        run.clients,
        run.concentration,
        scale,
        run.config["seed"],
    )


def _places(folder: Path) -> Iterator[Path]:
    """The folders of finished runs: the folder itself if it holds a run, and those of a grid's jobs."""
    found = [path.parent for path in sorted((folder / JOBS).glob(f"*/{RESULT}"))]
    own = [folder] if (folder / RESULT).is_file() else []
    if not (own or found):
        raise NoResults(
            f"{folder}: no results in this folder: give the folder of a run, or of a grid with finished jobs"
        )
    yield from (*own, *found)


def _identity(run: FinishedRun) -> str:
    settings = {key: value for key, value in run.config.items() if key not in IMMATERIAL}
    return json.dumps(settings, sort_keys=True)


def _together(first: FinishedRun, second: FinishedRun) -> FinishedRun:
    """Two runs of one federation as one; the first takes precedence, and each stage takes the longer time."""
    one, other = first.summary, second.summary
    claimed = {claim_at(row) for row in one["summary"]}
    new = [i for i, row in enumerate(other["summary"]) if claim_at(row) not in claimed]
    known = {(row["name"], row["rule"], row["epsilon"]) for row in one["estimates"]}
    names = {key: distinct([*first.config[key], *second.config[key]]) for key in ("events", "claims")}
    summary: Summary = {
        **one,
        "config": {**first.config, **names},
        "summary": [*one["summary"], *(other["summary"][i] for i in new)],
        "estimates": [
            *one["estimates"],
            *(row for row in other["estimates"] if (row["name"], row["rule"], row["epsilon"]) not in known),
        ],
        "timings": {
            stage: max(one["timings"].get(stage, 0.0), other["timings"].get(stage, 0.0))
            for stage in distinct([*one["timings"], *other["timings"]])
        },
    }
    properties: list[Property] = [
        {**mine, "bounds": [*mine["bounds"], *(theirs["bounds"][i] for i in new)]}
        for mine, theirs in zip(first.properties, second.properties, strict=True)
    ]
    return FinishedRun(summary, properties, first.link)
