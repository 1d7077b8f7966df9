"""Commands run in this process, and what they print."""

import io
import sys
from collections.abc import Callable

import pytest
from rich.console import Console


def exit_code(monkeypatch: pytest.MonkeyPatch, main: Callable[[], object], *command: str) -> int:
    """The exit code of a program, run in this process as this command line."""
    monkeypatch.setattr(sys, "argv", list(command))
    with pytest.raises(SystemExit) as caught:
        main()
    code = caught.value.code
    assert code is None or isinstance(code, int)
    return code or 0


def shown(renderable: object, width: int = 200) -> str:
    """The text of what rich prints."""
    file = io.StringIO()
    Console(file=file, width=width).print(renderable)
    return file.getvalue()
