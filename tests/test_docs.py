"""What the documents name is there: tests, modules, and pages."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "tests").rglob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"`(tests/[\w/.]+)`", text):
        assert (REPOSITORY / path).exists(), path
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}(" in TESTS, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_and_folders_that_a_page_links_to_exist(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in link or (page.parent / link).exists(), link
