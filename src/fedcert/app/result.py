"""The only reader of result.json and properties.json."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from fedcert.app.config import complaint
from fedcert.app.journal import PROPERTIES, RESULT
from fedcert.app.jsonfile import read_json
from fedcert.app.records import AtRadius, Claimed, Property, Summary
from fedcert.errors import UnreadableFile

FIELDS_ADDED_LATER = {
    *(("fedcert",), ("histograms",), ("inputs",), ("norm",)),
    *(("margins",), ("radii",), ("confidence",), ("conclusions",)),
}
"""Fields that results of earlier versions lack."""
T = TypeVar("T")


def read_summary(folder: Path) -> Summary:
    """The content of result.json; raises `UnreadableFile` with file and field if no run can have written it.

    Args:
        folder: the run's folder.
    """
    return _read(folder / RESULT, _SUMMARY.validate_python)


def read_properties(folder: Path, summary: Summary) -> list[Property]:
    """The content of properties.json; raises `UnreadableFile` also if it does not match the summary.

    Args:
        folder: the run's folder.
        summary: the content of the same run's result.json.
    """
    properties = _read(folder / PROPERTIES, _PROPERTIES.validate_python)
    try:
        _check_together(summary, properties)
    except ValueError as error:
        raise UnreadableFile(f"{folder / PROPERTIES}: {error}: repeat the run") from error
    return properties


def claim_at(row: AtRadius) -> tuple[str, str, str, float]:
    """Kind, rule, events and radius, which identify a row of the summary."""
    return *claim_of(row), row["epsilon"]


def claim_of(row: Claimed) -> tuple[str, str, str]:
    """Kind, rule and events, which identify a claim."""
    return row["claim"], row["rule"], row["events"]


def _read(path: Path, validate: Callable[[Any], T]) -> T:
    try:
        return validate(read_json(path))
    except UnreadableFile as error:
        raise UnreadableFile(f"{error}: repeat the run") from error
    except ValidationError as error:
        raise UnreadableFile(f"{path}: {_first(error.errors())}") from error


def _first(problems: Sequence[ErrorDetails]) -> str:
    missing = {one["loc"] for one in problems if one["type"] == "missing" and len(one["loc"]) == 1}
    if missing and missing <= FIELDS_ADDED_LATER:
        return "written by an earlier version: remove it, or repeat the run"
    place, more = problems[0]["loc"], len(problems) - 1
    depth = 5 if place[:1] != ("config",) else 3 if place[1:2] == ("training",) else 2
    others = f" (and {more} more)" if more else ""
    return f"{complaint(problems[0], depth)}{others}: repeat the run"


def _check_summary(summary: Summary) -> Summary:
    """Check that the parts of result.json agree with each other."""
    config, clients, histograms = summary["config"], summary["clients"], summary["histograms"]
    _check_distinct("summary", (claim_at(row) for row in summary["summary"]))
    _check_distinct("estimates", ((row["name"], row["rule"], row["epsilon"]) for row in summary["estimates"]))
    _check_distinct("clients", (client["client"] for client in clients))
    if len(clients) > config["clients"]:
        raise ValueError(f"clients: {len(clients)}, more than the {config['clients']} of the configuration")
    if (summary["accuracy"] is None) != ("subject" in summary):
        raise ValueError("accuracy: an accuracy needs labels, and labels have one")
    if summary["accuracy_by_rule"].get(config["rule"]) != summary["accuracy"]:
        raise ValueError("accuracy: not that of the deployed rule in accuracy_by_rule")
    count = summary["inputs"]["count"]
    for i, row in enumerate(summary["summary"]):
        if row["properties"] != count:
            raise ValueError(f"summary.{i}.properties: not the {count} inputs of the run")
        if row["epsilon"] not in config["epsilon"]:
            raise ValueError(f"summary.{i}.epsilon: not a radius of the configuration")
    if histograms is not None and len(histograms) != len(clients):
        raise ValueError(f"histograms: {len(histograms)} rows for {len(clients)} clients")
    if histograms is not None and len({len(row) for row in histograms}) > 1:
        raise ValueError("histograms: rows of different lengths")
    return summary


def _check_distinct(place: str, names: Iterable[object]) -> None:
    seen = set()
    for i, name in enumerate(names):
        if name in seen:
            raise ValueError(f"{place}.{i}: {name} appears twice")
        seen.add(name)


def _check_together(summary: Summary, properties: Sequence[Property]) -> None:
    """Check that result.json and properties.json agree with each other."""
    count = summary["inputs"]["count"]
    if len(properties) != count:
        raise ValueError(f"{len(properties)} properties, but {count} in {RESULT}")
    claims = [(*claim_at(row), row["upper"] is None) for row in summary["summary"]]
    for i, entry in enumerate(properties):
        if [(*claim_at(row), row["upper"] is None) for row in entry["bounds"]] != claims:
            raise ValueError(f"{i}.bounds: not those of the claims in {RESULT}, one by one")
        if len(entry["radii"]) != len(summary["radii"]):
            searches = len(summary["radii"])
            raise ValueError(f"{i}.radii: not one for each of the {searches} searches in {RESULT}")


_SUMMARY = TypeAdapter(Annotated[Summary, AfterValidator(_check_summary)])
_PROPERTIES = TypeAdapter(list[Property])
