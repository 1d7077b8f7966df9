"""The two apps of the example, and the page that shows how they differ."""

import importlib.util
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from flower_network import EXAMPLE
from integrations import library

PAGE = Path(__file__).parents[3] / "docs" / "flower.md"
MOST_LINES = 15

SPEC = importlib.util.spec_from_file_location("flower_diff", PAGE.with_name("flower_diff.py"))
flower_diff = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(flower_diff)


def test_the_page_shows_the_diff_of_the_two_apps() -> None:
    assert flower_diff.diff() in PAGE.read_text(encoding="utf-8"), "run python docs/flower_diff.py"


def test_an_app_changes_few_lines() -> None:
    assert 0 < len(flower_diff.changed()) <= MOST_LINES


def test_the_app_declares_nothing_that_a_superlink_would_install() -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dependencies"] == []


@pytest.mark.parametrize("folder", ["plain_federation", "certified_federation"])
@pytest.mark.parametrize("name", ["client_app", "server_app"])
def test_each_module_has_its_app(folder: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library("flwr")
    monkeypatch.syspath_prepend(EXAMPLE)
    kind = "ClientApp" if name == "client_app" else "ServerApp"
    assert type(import_module(f"{folder}.{name}").app).__name__ == kind
    for own in [module for module in sys.modules if module.partition(".")[0].endswith("_federation")]:
        monkeypatch.delitem(sys.modules, own)
