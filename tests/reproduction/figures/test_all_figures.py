"""Every figure once, of a small grid: whole, readable by machines, the same each time."""

import re
from xml.etree import ElementTree

import pytest
from grid_runs import run, sweeps

from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun, merged
from reproduction.figures import FIGURES

pytestmark = pytest.mark.slow

NAMES = [
    "hierarchy",
    "calibration",
    "retention",
    "heat-map-1e-05",
    "heat-map-learned",
    "scales",
    "clients",
    "cost",
]


def small_grid() -> list[FinishedRun]:
    return [
        run(dataset=dataset, clients=clients, concentration=concentration, scale=scale)
        for dataset in ("mnist", "fashion-mnist")
        for clients in (2, 5)
        for concentration in (0.5, 1.0, 10.0)
        for scale in (1e-5, "learned")
    ]


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    runs = merged(small_grid() + sweeps())
    return {picture.name: picture for draw in FIGURES for picture in draw(runs)}


def test_every_figure_is_there(pictures: dict[str, Picture]) -> None:
    assert list(pictures) == NAMES
    assert "the paper's Table 2" in pictures["hierarchy"].svg


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_whole(pictures: dict[str, Picture], name: str) -> None:
    picture = pictures[name]
    root = ElementTree.fromstring(picture.svg)
    assert root.tag.endswith("svg")
    assert root.get("aria-label") == root[0].text == picture.title
    assert root[0].tag.endswith("title")
    assert len(picture.svg) < 300_000
    assert picture.png.startswith(b"\x89PNG")
    assert picture.pdf.startswith(b"%PDF")
    assert picture.caption.endswith(".")
    assert b"/Type3" not in picture.pdf  # journals refuse such fonts
    assert not re.search(rb"CreationDate|Software|tIME", picture.pdf + picture.png)


def test_names_in_a_page_of_all_figures_are_unique(pictures: dict[str, Picture]) -> None:
    names = [set(re.findall(r' id="([^"]*)"', picture.svg)) for picture in pictures.values()]
    assert sum(map(len, names)) == len(set.union(*names))
    for picture, known in zip(pictures.values(), names, strict=True):
        assert set(re.findall(r'(?:url\(|href=")#([\w.-]+)', picture.svg)) <= known


def test_without_data_there_are_no_figures() -> None:
    assert not any(draw([]) for draw in FIGURES)
