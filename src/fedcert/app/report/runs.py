"""Finished runs: the contents of their files, found by claim and by estimate."""

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
from fedcert.app.report.words import DATASET_NAMES, architecture, distinct
from fedcert.app.result import Property, Row, Summary, claim_of, read_properties, read_summary
from fedcert.errors import DataError

JOBS = "jobs"
IMMATERIAL = frozenset({"data_dir", "device", "events", "claims"})
"""Settings that do not make it another federation: where it ran, and what was claimed about it."""


@dataclass(frozen=True)
class FinishedRun:
    """What a run left behind.

    Attributes:
        summary: the content of its result.json.
        properties: the content of its properties.json.
        link: where its own report lies, seen from the one that is made; empty where there is none.
    """

    summary: Summary
    properties: Sequence[Property]
    link: str = ""

    @property
    def config(self) -> dict[str, Any]:
        """All its settings."""
        return self.summary["config"]

    @property
    def dataset(self) -> str:
        """Where its data come from."""
        return str(self.config["dataset"])

    @property
    def architecture(self) -> str:
        """Its hidden layers: 1×64, 2×64."""
        return architecture(self.config["hidden"])

    @property
    def clients(self) -> int:
        """How many clients it was to have."""
        return int(self.config["clients"])

    @property
    def concentration(self) -> float:
        """Of the Dirichlet partition."""
        return float(self.config["concentration"])

    @property
    def scale(self) -> float | str:
        """The posterior scale: a number, or that it is learned."""
        scale: float | str = self.config["scale"]
        return scale

    @cached_property
    def claims(self) -> dict[tuple[str, str, str], Row]:
        """What is proven, by kind, rule and events."""
        return {claim_of(row): row for row in self.summary["summary"]}

    def estimate(self, name: str) -> dict[str, float]:
        """The values of an estimate by rule.

        Args:
            name: such as "mc-ibp".
        """
        return {row["rule"]: row["value"] for row in self.summary["estimates"] if row["name"] == name}

    @property
    def strongest(self) -> Row | None:
        """The row with the largest L of the deployed model; None where nothing is claimed of it."""
        rule = self.config["rule"]
        deployed = [row for (kind, of, _), row in self.claims.items() if kind != "local" and of == rule]
        return max(deployed, key=lambda row: row["lower"], default=None)


def read_runs(folders: Sequence[Path], out: Path) -> list[FinishedRun]:
    """The finished runs in some folders, each once.

    Args:
        folders: each the folder of a grid, of a shard of one, or of one run.
        out: from where their own reports are linked.
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
    """Every federation once, in the order of their settings; its runs with other events or claims are one."""
    found: dict[str, FinishedRun] = {}
    for run in runs:
        identity = _identity(run)
        found[identity] = _together(found[identity], run) if identity in found else run
    return sorted(found.values(), key=lambda run: (order(run), _identity(run)))


def federations(runs: Iterable[FinishedRun]) -> list[FinishedRun]:
    """One run of each federation that was trained; several may share its clients."""
    found = {json.dumps({key: run.config.get(key) for key in sorted(TRAINING_SETTINGS)}): run for run in runs}
    return list(found.values())


def order(run: FinishedRun) -> tuple[object, ...]:
    """By architecture, data set, clients and concentration; fixed scales before learned ones."""
    scale = math.inf if isinstance(run.scale, str) else run.scale
    place = [*DATASET_NAMES, run.dataset].index(run.dataset)
    widths = tuple(run.config["hidden"])
    return len(widths), widths, place, run.dataset, run.clients, run.concentration, scale, run.config["seed"]


def _places(folder: Path) -> Iterator[Path]:
    """The folders of finished runs: of a run itself, or of the jobs of a grid."""
    found = [path.parent for path in sorted((folder / JOBS).glob(f"*/{RESULT}"))]
    own = [folder] if (folder / RESULT).is_file() else []
    if not (own or found):
        raise DataError(
            f"{folder}: no results there: give the folder of a run, or of a grid with finished jobs"
        )
    yield from (*own, *found)


def _identity(run: FinishedRun) -> str:
    settings = {key: value for key, value in run.config.items() if key not in IMMATERIAL}
    return json.dumps(settings, sort_keys=True)


def _together(first: FinishedRun, second: FinishedRun) -> FinishedRun:
    """Two runs of one federation as one; the first goes before, and a stage took what the longer one took."""
    one, other = first.summary, second.summary
    new = [i for i, row in enumerate(other["summary"]) if claim_of(row) not in first.claims]
    known = {(row["name"], row["rule"]) for row in one["estimates"]}
    names = {key: distinct([*first.config[key], *second.config[key]]) for key in ("events", "claims")}
    summary: Summary = {
        **one,
        "config": {**first.config, **names},
        "summary": [*one["summary"], *(other["summary"][i] for i in new)],
        "estimates": [
            *one["estimates"],
            *(row for row in other["estimates"] if (row["name"], row["rule"]) not in known),
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
