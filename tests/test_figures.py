"""Every figure of the documentation is made by a script, and pages quote the numbers that it wrote."""

import json
import math
import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = DOCS / "figures"
FEW = {  # settings that take seconds
    "boxes_and_projections": {"sizes": (2, 8)},
    "certified_accuracy": {"radii": (0.0, 0.03), "properties": 4},
    "local_certificates": {},
    "statements": {"radii": (0.0, 0.1)},
}
QUOTED = {
    "explanation/boxes-and-projections.md": "boxes-and-projections",
    "explanation/local-certificates.md": "local-certificates",
    "explanation/statements.md": "statements",
}


def make(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FIGURES))
        for name, settings in FEW.items():
            runpy.run_path(str(FIGURES / f"{name}.py"))["main"](folder, **settings)


def numbers(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def flat(value: object) -> list[float]:
    match value:
        case dict():
            return [one for part in value.values() for one in flat(part)]
        case list():
            return [one for part in value for one in flat(part)]
    return [float(value)]


def assert_no_worse(found: float, committed: float) -> None:
    """Bounds may become better than the figure shows, until it is made again; never worse."""
    assert found >= committed - 0.02


def test_every_figure_has_its_script() -> None:
    scripts = {path.stem.replace("_", "-") for path in FIGURES.glob("*.py")} - {"drawing"}
    assert {path.stem for path in FIGURES.glob("*.svg")} == scripts == {own.replace("_", "-") for own in FEW}


@pytest.mark.slow
def test_scripts_make_pictures_of_the_committed_numbers(tmp_path: Path) -> None:
    make(tmp_path)
    for name in FEW:
        assert (tmp_path / f"{name.replace('_', '-')}.svg").stat().st_size > 5000
    again, kept = (numbers(folder / "local-certificates.json") for folder in (tmp_path, FIGURES))
    for name, claims in again.items():
        for kind, (lower, upper) in claims.items():
            assert_no_worse(lower, kept[name][kind][0])
            assert_no_worse(-upper, -kept[name][kind][1])
    again, kept = (numbers(folder / "boxes-and-projections.json") for folder in (tmp_path, FIGURES))
    for i, weights in enumerate(again["weights"]):
        j = kept["weights"].index(weights)
        for name, sign in (("box", 1), ("projected", 1), ("upper", -1)):
            assert_no_worse(sign * again[name][i], sign * kept[name][j])
    again, kept = (numbers(folder / "statements.json") for folder in (tmp_path, FIGURES))
    for name, sign in (("lower", 1), ("upper", -1)):
        for end in (0, -1):
            assert_no_worse(sign * again[name][end], sign * kept[name][end])
    curve = numbers(tmp_path / "certified-accuracy.json")
    assert all(low <= high for low, high in zip(curve["lower"], curve["upper"], strict=True))
    assert curve["lower"][0] >= curve["lower"][1] > 50


@pytest.mark.parametrize(("page", "figure"), QUOTED.items())
def test_pages_quote_numbers_of_their_figure(page: str, figure: str) -> None:
    known = flat(numbers(FIGURES / f"{figure}.json"))
    quoted = re.findall(r"(\d+\.\d\d)(?:,| %|\])", (DOCS / page).read_text(encoding="utf-8"))
    assert quoted
    for number in map(float, quoted):
        assert any(math.isclose(number, one) for one in known), number
