"""Every block of README and docs does what it says; see `pages`."""

from pathlib import Path

import pytest
from pages import REPOSITORY, Block, Reader, blocks_of, in_new_folder, parse, require_same

PAGES = [
    page
    for page in [
        *REPOSITORY.glob("*.md"),
        REPOSITORY / "checker" / "README.md",
        *sorted((REPOSITORY / "docs").rglob("*.md")),
    ]
    if any(blocks_of(page.read_text(encoding="utf-8")))
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_the_blocks_of_a_page_do_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_new_folder(monkeypatch, tmp_path)
    Reader(monkeypatch, capsys).follow(page.read_text(encoding="utf-8"))


def test_marks_and_hidden_set_up_are_read() -> None:
    page = "<!-- setup\nx = 1\n-->\n\n<!-- not run: why -->\n```sh\nmake run\n```\n```{toctree}\na\n```\n"
    assert list(blocks_of(page)) == [
        Block("python", "x = 1\n"),
        Block("sh", "make run\n", "not run", "why"),
    ]


@pytest.mark.parametrize(
    "line", ["fedcert run --no-such-option", "make nothing", "pip install 'fedcert[nothing]'", "frobnicate"]
)
def test_what_does_not_exist_is_noticed(line: str) -> None:
    with pytest.raises(AssertionError):
        parse(line)


def test_figures_may_differ_only_where_a_page_says_so() -> None:
    require_same("at least 94.4 %", "so: at least 93.1 % of", about=True)
    for shown, about in (("at least 94.4 %", False), ("at least 84.4 %", True), ("at most 93.1 %", True)):
        with pytest.raises(AssertionError):
            require_same(shown, "so: at least 93.1 % of", about)
