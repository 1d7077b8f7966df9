"""docs/messages.md does what it says: its blocks are run in order, in one folder."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from terminal import exit_code

from fedcert.app.cli import main

PAGE = (Path(__file__).parents[1] / "docs" / "messages.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.slow
def test_the_blocks_of_the_page_give_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {}
    printed = ""
    for language, text in BLOCKS:
        match language:
            case "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(text, known)  # noqa: S102 - the page is ours
                printed = output.getvalue()
            case "toml":
                Path("model.toml").write_text(text, encoding="utf-8")
            case "sh":
                for line in text.strip().splitlines():
                    assert exit_code(monkeypatch, main, *shlex.split(line)) == 0
                printed = capsys.readouterr().out
            case "text":
                assert " ".join(text.split()) in " ".join(printed.split())
