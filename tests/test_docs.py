"""What the documents and the help name is there: tests, modules, pages, options."""

import email
import re
from pathlib import Path

import pytest
from fuzz.campaign import KINDS
from pages import parse
from terminal import exit_code

import fedcert
from fedcert.app.cli import main
from fedcert.app.examples import EXAMPLES
from fedcert.errors import FedcertError, UnsupportedLayer
from fedcert_check import errors as checker_errors

REPOSITORY = Path(__file__).parents[1]
READ_ME = [REPOSITORY / "README.md", REPOSITORY / "checker" / "README.md", REPOSITORY / "CONTRIBUTING.md"]
PAGES = [*READ_ME, *sorted((REPOSITORY / "docs").rglob("*.md"))]
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


def rows_of(page: str) -> list[list[str]]:
    lines = (REPOSITORY / "docs" / page).read_text(encoding="utf-8").splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| [")
    ]


def test_every_section_of_the_proofs_has_its_code_checker_tests_and_fuzz_kinds() -> None:
    soundness = (REPOSITORY / "docs" / "soundness.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (\d+)\.", soundness, flags=re.MULTILINE)
    rows = rows_of("proofs-and-code.md")
    assert [re.match(r"\[(\d+)\.", row[0])[1] for row in rows] == sections
    for _, code, checker, tests, kinds in rows:
        for path in re.findall(r"`([^`]+)`", code):
            assert (REPOSITORY / "src" / "fedcert" / path).exists(), path
        for path in re.findall(r"`([^`]+)`", checker):
            assert (REPOSITORY / "checker" / "src" / "fedcert_check" / path).exists(), path
        assert "`tests/" in tests
        for kind in kinds.split("; "):
            assert kind in KINDS or kind == "–", kind


def kinds_of(error: type[FedcertError]) -> list[type[FedcertError]]:
    """The kinds of this error, and theirs."""
    own = error.__subclasses__()
    return [*own, *(kind for one in own for kind in kinds_of(one))]


def test_the_reference_has_every_public_name_and_every_error() -> None:
    reference = REPOSITORY / "docs" / "reference"
    named = re.findall(r"auto\w+:: fedcert\.(\w+)$", (reference / "api.md").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted(set(fedcert.__all__) - {"__version__"})
    errors = (reference / "errors.md").read_text(encoding="utf-8")
    for error in kinds_of(FedcertError):
        if error.__module__.startswith("fedcert"):
            assert f"`{error.__name__}`" in errors
            assert (REPOSITORY / error("").explained_in).exists()


def test_errors_name_the_page_that_explains_them() -> None:
    error = UnsupportedLayer("softmax")
    assert str(error) == "softmax"
    assert error.__notes__ == ["explained in docs/posteriors.md"]


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_in_the_help_parse_and_stand_in_it(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert exit_code(monkeypatch, main, "fedcert", command, "--help") == 0
    shown = capsys.readouterr().out
    for line in EXAMPLES[command]:
        parse(line)
        assert line in shown


def test_the_shell_completes_commands_and_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_FEDCERT_COMPLETE", "complete_bash")
    for words, found in (("fedcert ru", "run"), ("fedcert run --eps", "--epsilon")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        exit_code(monkeypatch, main, "fedcert")
        assert found in capsys.readouterr().out.split()


def test_errors_lead_to_the_site_once_the_package_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = email.message_from_string("Project-URL: Documentation, https://fedcert.example/\n")
    monkeypatch.setattr(checker_errors, "metadata", lambda name: stated)
    checker_errors.site.cache_clear()
    try:
        assert UnsupportedLayer("").explained_in == "https://fedcert.example/posteriors.html"
    finally:
        checker_errors.site.cache_clear()
