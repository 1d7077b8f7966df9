"""A command that Ctrl-C ends with one line, which says what to type next."""

import shlex
import sys
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from fedcert_check.visible import visible

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def notify(program: str, text: str) -> None:
    """Print one line to standard error.

    Args:
        program: the name that the line begins with.
        text: what to say; line ends and control characters in it do no harm.
    """
    print(f"{program}: {visible(' '.join(text.split()))}", file=sys.stderr)


class Command(TyperCommand):
    """A command that starts anew when it is given again.

    Attributes:
        again: what giving the command again does.
    """

    again: ClassVar[str] = "start again"

    def invoke(self, ctx: Any) -> Any:
        """Do what the command does; Ctrl-C ends it with one line and exit code 130.

        Args:
            ctx: the command line.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            program = ctx.find_root().info_name
            notify(program, f"interrupted; to {self.again}: {shlex.join([program, *sys.argv[1:]])}")
            raise typer.Exit(INTERRUPTED) from None


class ResumableCommand(Command):
    """A command that goes on where it stopped when it is given again."""

    again = "resume"
