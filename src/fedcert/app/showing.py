"""What commands print: notices while they work, and the table of a finished run."""

from pathlib import Path
from typing import Any

import typer

from fedcert_check.command import notify

PROGRAM = "fedcert"


def say(text: str) -> None:
    """Print one line for the user, separate from the results."""
    notify(PROGRAM, text)


def show(summary: Any, folder: Path, check: bool) -> None:
    """Print the table of a run and the path of its report; exit with 1 if an asked-for check failed."""
    from rich.console import Console

    from fedcert.app.console import show_run
    from fedcert.app.reprove import all_reproved

    show_run(summary, folder, Console())
    if check and not all_reproved(summary):
        raise typer.Exit(1)
