"""Where a program can make pages, every letter of report.html is held against the run's other files."""

from dataclasses import replace
from pathlib import Path

import pytest
from refused_runs import evidence, lines

from fedcert_check.run_folder import RunReport
from fedcert_check.run_folder.compare import WORDS, compare
from fedcert_check.run_folder.page import PAGE
from fedcert_check.run_folder.whole_page import SAME, MakePage, compare_whole_page


def report(folder: Path, make_page: MakePage | None) -> RunReport:
    return RunReport(folder, (), compare_whole_page(folder, compare(folder, *evidence()), make_page))


def test_the_page_that_the_files_give_agrees(folder: Path) -> None:
    found = report(folder, lambda own: (own / PAGE).read_text())
    assert (found.exit_code, lines(found)) == (0, [])
    assert SAME in found.comparison.notes
    assert WORDS not in found.comparison.notes


def test_the_first_line_that_says_something_else_is_named(folder: Path) -> None:
    found = report(folder, lambda own: (own / PAGE).read_text().replace("<p>Proven", "<p>Certain"))
    assert found.exit_code == 1
    place = (folder / PAGE).read_text().split("\n").index("<p>Proven &ge;</p>") + 1
    (line,) = lines(found)
    assert line.startswith(f"report.html: line {place}: is not what fedcert writes for this result.json")
    assert SAME not in found.comparison.notes


@pytest.mark.parametrize("end", ["\n", "<p>more</p>"])
def test_a_page_that_is_longer_or_shorter_is_another_one(end: str, folder: Path) -> None:
    assert report(folder, lambda own: (own / PAGE).read_text() + end).exit_code == 1
    assert report(folder, lambda own: (own / PAGE).read_text()[: -len(end)]).exit_code == 1


@pytest.mark.parametrize("make_page", [None, lambda own: None])
def test_words_that_nobody_can_make_anew_are_said_to_be_unchecked(
    make_page: MakePage | None, folder: Path
) -> None:
    found = report(folder, make_page)
    assert found.exit_code == 0
    assert WORDS in found.comparison.notes


def test_files_from_which_no_page_can_be_made_are_refused(folder: Path) -> None:
    found = report(folder, lambda own: next(iter(())))
    assert found.exit_code == 2
    assert lines(found) == ["report.html: it cannot be made anew: "]


def test_nothing_is_made_of_files_that_cannot_be_read(folder: Path) -> None:
    before = replace(compare(folder, *evidence()), unreadable=("result.json: torn",))
    assert compare_whole_page(folder, before, lambda own: "other") == before
