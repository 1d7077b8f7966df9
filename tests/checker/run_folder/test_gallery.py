"""Every tampering with properties.json is refused with a line that names it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refused_runs import put, refused


def gallery(folder: Path, edit: Callable[[Any], object]) -> None:
    path = folder / "properties.json"
    properties = json.loads(path.read_text())
    edit(properties)
    path.write_text(json.dumps(properties))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("1.label", 7),
        ("1.index", 0),
        ("1.bounds.2.lower", 0.9999),
        ("1.bounds.2.upper", None),
        ("1.bounds.2.epsilon", 0.3),
        ("1.bounds.2.claim", "local"),
        ("3.radii.0", 0.5),
    ],
)
def test_an_edited_property_of_the_pages_is_named(place: str, value: object, folder: Path) -> None:
    gallery(folder, put(place, value))
    refused(folder, "properties.json", place, "but")


@pytest.mark.parametrize("place", ["0.bounds", "0.radii"])
def test_a_bound_that_is_missing_from_a_property_is_named(place: str, folder: Path) -> None:
    gallery(folder, put(place, []))
    refused(folder, "properties.json", place, "0 of them, but")


def test_properties_that_are_missing_or_malformed_are_named(folder: Path) -> None:
    gallery(folder, lambda properties: properties.pop())
    refused(folder, "properties.json", "3 properties, but 4")
    gallery(folder, lambda properties: properties[0].update(proven=True))
    refused(folder, "properties.json", "0", "unknown field 'proven'", code=2)
