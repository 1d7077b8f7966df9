"""Pages of documentation as programs: their blocks are run in order, in one folder.

A comment before a block says what else than running it is meant:

    <!-- not run: why -->       its commands are only parsed, and what they name must exist
    <!-- needs: library -->     run where that library is installed
    <!-- excerpt: path -->      its lines stand in this file of the repository, which other tests run
    <!-- file: name -->         its text is the content of this file
    <!-- about -->              figures in this output may differ by up to 3 (processors differ)
    <!-- table of the run -->   radius, [L, U], transported L and survival, of the last run, as much apart
    <!-- setup … -->            Python that is run, and not shown
"""

import ast
import contextlib
import io
import os
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
from terminal import exit_code
from typer import BadParameter
from typer.main import get_command

from fedcert.app import cli
from fedcert_check import cli as checker_cli

REPOSITORY = Path(__file__).parents[1]
PROGRAMS = {"fedcert": cli, "fedcert-check": checker_cli}
NOT_OURS = {
    *("cd", "export", "mkdir", "printf", "kill", "git", "sbatch", "srun", "ray", "exec", "twine"),
    *("flwr", "flower-superlink", "flower-supernode", "source"),
}
UNCHECKED = ("diff",)  # of docs/flower_diff.py, which tests/examples/flower runs
PART = re.compile(
    r"<!-- setup\n(?P<setup>.*?)-->"
    r"|<!-- table of the run -->\n(?P<table>(?:\|.*\n)+)"
    r"|(?:<!-- (?P<mark>[\w ]+)(?:: (?P<about>[^\n]*?))? -->\n)?"
    r"^```(?P<language>[\w{}-]+)\n(?P<text>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
ALLOWED_DIFFERENCE = 3.0
BETWEEN = r"\s*[|│]\s*"
SHOWN_ROW = re.compile(r"\| ([\d.]+) \| \[([\d.]+), ([\d.]+)\] \| ([\d.]+) \| ([\d.]+) \|")
TRANSPORTED_ROW = re.compile(rf"([\d.]+){BETWEEN}transported{BETWEEN}([\d.]+){BETWEEN}")
DIRECT_ROW = re.compile(rf"([\d.]+){BETWEEN}direct{BETWEEN}\[([\d.]+), ([\d.]+)\]{BETWEEN}([\d.]+)")
UsageError = BadParameter.__mro__[1]  # of the click that typer carries


@dataclass(frozen=True)
class Block:
    """A block of a page, and what the comment before it says."""

    language: str
    text: str
    mark: str | None = None
    about: str | None = None


def blocks_of(page: str) -> Iterator[Block]:
    """The blocks of a page that say something to run or to compare, in order."""
    for match in PART.finditer(page):
        if match["setup"] is not None:
            yield Block("python", match["setup"])
        elif match["table"] is not None:
            yield Block("table", match["table"])
        elif not match["language"].startswith("{"):
            yield Block(match["language"], match["text"], match["mark"], match["about"])


@dataclass
class Reader:
    """Somebody who does what a page says, in the current folder."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    known: dict[str, Any] = field(default_factory=dict)
    printed: str = ""

    def follow(self, page: str) -> None:
        """Do what the blocks say."""
        for block in blocks_of(page):
            self.do(block)

    def do(self, block: Block) -> None:
        """Run a block, or compare it with what was printed last."""
        match block.mark, block.language:
            case "excerpt", _:
                require_excerpt(block)
            case "file", language:
                if language == "bash":
                    for line in lines_of(block.text):
                        parse(line)
                Path(block.about or "").write_text(block.text, encoding="utf-8")
            case "needs", _ if find_spec(block.about or "") is None:
                ast.parse(block.text)
            case "not run", "sh":
                for line in lines_of(block.text):
                    parse(line)
            case "not run", "python":
                ast.parse(block.text)
            case ((None | "needs"), "python"):
                self.printed = self.python(block.text)
            case None, "sh":
                self.printed = "".join(self.command(line) for line in lines_of(block.text))
            case ((None | "about"), "text"):
                require_same(block.text, self.printed, block.mark == "about")
            case None, "table":
                require_same_rows(block.text, self.printed)
            case None, "toml":
                tomllib.loads(block.text)
            case _, language:
                assert language in UNCHECKED, f"{language}: {block.mark}"

    def python(self, text: str) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries
            exec(text, self.known)  # noqa: S102 - the page is ours
        return output.getvalue()

    def command(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        parse(line)
        assert exit_code(self.monkeypatch, PROGRAMS[words[0]].main, *words) == 0, line
        return self.capsys.readouterr().out


def lines_of(text: str) -> list[str]:
    """Command lines, continued ones joined."""
    return [line for line in text.replace("\\\n", " ").splitlines() if shlex.split(line, comments=True)]


def parse(line: str) -> None:
    """A command of ours has only options that it knows; other programs are known by name."""
    program, *words = shlex.split(line, comments=True)
    if program in PROGRAMS:
        _parse_options(program, words)
    elif program == "make":
        targets = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
        assert all(re.search(rf"^{re.escape(word)}:", targets, flags=re.MULTILINE) for word in words), line
    elif program == "pip":
        _parse_requirements(line)
    elif program == "python" or program.startswith("FEDCERT_"):
        script = next(word for word in words if not word.startswith("-"))
        assert words[0] == "-m" or (REPOSITORY / script).exists() or "/" not in script, line
    else:
        assert program in NOT_OURS or "=" in program, f"{program}: {line}"


def _parse_options(program: str, words: list[str]) -> None:
    command = get_command(PROGRAMS[program].app)
    try:
        if program == "fedcert-check":
            command.make_context(program, words)
        elif not words[0].startswith("-"):
            group = command.make_context(program, [words[0]])
            name, own, _ = command.resolve_command(group, words)
            own.make_context(name, words[1:], parent=group)
    except typer.Exit:  # an option that says something and ends the program
        pass
    except UsageError as error:
        raise AssertionError(f"{program} {shlex.join(words)}: {error.message}") from error


def _parse_requirements(line: str) -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for named in re.findall(r"(?:fedcert|\.)\[([\w,-]+)\]", line):
        assert set(named.split(",")) <= set(extras), line
    for file in re.findall(r"-[cr] (\S+)", line):
        assert (REPOSITORY / file).exists(), line


def require_excerpt(block: Block) -> None:
    """Every line stands in the file."""
    lines = {line.strip() for line in (REPOSITORY / str(block.about)).read_text().splitlines()}
    for line in block.text.splitlines():
        assert line.strip() in lines, f"{block.about}: {line}"


def require_same(shown: str, printed: str, about: bool) -> None:
    """The text of a page stands in what was printed; figures may differ a little where it says so."""
    wanted, found = " ".join(shown.split()), " ".join(printed.split())
    if not about:
        assert wanted in found
        return
    pattern = NUMBER.sub("\0", wanted)
    escaped = re.escape(pattern).replace("\0", f"({NUMBER.pattern})")
    match = re.search(escaped, found)
    assert match is not None, f"{wanted}\nis not in\n{found}"
    for own, other in zip(NUMBER.findall(wanted), match.groups(), strict=True):
        assert abs(float(own) - float(other)) <= ALLOWED_DIFFERENCE, (own, other)


def require_same_rows(shown: str, printed: str) -> None:
    """A page's table has the radii of the last run and about its figures."""
    rows = [tuple(map(float, row)) for row in SHOWN_ROW.findall(shown)]
    transported = {float(at): float(lower) for at, lower in TRANSPORTED_ROW.findall(printed)}
    direct = {float(row[0]): tuple(map(float, row[1:])) for row in DIRECT_ROW.findall(printed)}
    assert rows, shown
    assert [radius for radius, *_ in rows] == list(direct)
    for radius, *figures in rows:
        lower, upper, survival = direct[radius]
        found = (lower, upper, transported[radius], survival)
        assert figures == pytest.approx(found, abs=ALLOWED_DIFFERENCE), radius


def in_new_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Work in this folder, with output as wide as pages show it."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # no pools of processes for small proofs
