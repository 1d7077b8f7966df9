"""Every tampering with properties.csv is refused with a line that names it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from refused_runs import refused

from fedcert_check.run_folder.table import COLUMNS


def edit_line(folder: Path, number: int, edit: Callable[[list[str]], list[str]]) -> None:
    """Change the cells of one line of properties.csv, which is given with its number from 1."""
    path = folder / "properties.csv"
    table = path.read_text().splitlines()
    table[number - 1] = ",".join(edit(table[number - 1].split(",")))
    path.write_text("\n".join(table) + "\n")


CELLS = [
    ("input", "3"),
    ("label", "7"),
    ("lower", "0.9999"),
    ("lower", "0.1"),
    ("upper", "0.5"),
    ("upper", ""),
    ("norm", "l2"),
    ("chosen", "random"),
]


@pytest.mark.parametrize(("column", "value"), CELLS)
def test_an_edited_cell_of_the_table_is_named(column: str, value: str, folder: Path) -> None:
    place = COLUMNS.index(column)
    edit_line(folder, 11, lambda row: [*row[:place], value, *row[place + 1 :]])
    refused(folder, "properties.csv", f"line 11: {column}", "direct-fedavg-projected-eps-0.001")


@pytest.mark.parametrize(
    ("column", "value"),
    [("epsilon", "0.3"), ("threshold", "0.9"), ("claim", "local+"), ("rule", "pog"), ("events", "box")],
)
def test_a_line_of_another_claim_is_named(column: str, value: str, folder: Path) -> None:
    place = COLUMNS.index(column)
    edit_line(folder, 11, lambda row: [*row[:place], value, *row[place + 1 :]])
    refused(folder, "properties.csv", "line 11", "does not make")
    refused(folder, "properties.csv", "property 1 of direct fedavg projected at radius 0.001 is missing")


@pytest.mark.parametrize("value", ["9", "-1", "0"])
def test_a_line_of_another_property_is_named(value: str, folder: Path) -> None:
    edit_line(folder, 11, lambda row: [value, *row[1:]])
    refused(folder, "properties.csv", "line 11")


def test_labels_that_change_places_are_named(folder: Path) -> None:
    path = folder / "properties.csv"
    table = [line.split(",") for line in path.read_text().splitlines()]
    one, other = next((a, b) for a in range(1, 5) for b in range(1, 5) if table[a][2] != table[b][2])
    table[one][2], table[other][2] = table[other][2], table[one][2]
    path.write_text("\n".join(map(",".join, table)) + "\n")
    refused(folder, "properties.csv", f"line {one + 1}: label")


def test_a_removed_and_a_repeated_line_are_named(folder: Path) -> None:
    path = folder / "properties.csv"
    table = path.read_text().splitlines()
    path.write_text("\n".join([*table[:5], *table[6:]]) + "\n")
    refused(folder, "properties.csv", "the line of property 0 of transported", "is missing")
    path.write_text("\n".join([*table, table[5]]) + "\n")
    refused(folder, "properties.csv", f"line {len(table) + 1}", "as in line 6")


@pytest.mark.parametrize("value", ["nan", "inf", "1e999", "0x1p-1", "1_0", " 0.5", "٠.٥", "-0.5", "x\x1b[2K"])
def test_a_cell_that_is_no_number_is_not_readable(value: str, folder: Path) -> None:
    edit_line(folder, 11, lambda row: [*row[:8], value, *row[9:]])
    (line,) = refused(folder, "properties.csv", "line 11: lower", "not a number", code=2)
    assert line.isprintable()
