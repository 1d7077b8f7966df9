"""The command `fedcert-check`, which is also `fedcert check`. Nothing heavy is imported before it runs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from fedcert_check.errors import FedcertError
from fedcert_check.visible import visible

PROGRAM = "fedcert-check"


def check_command(program: str) -> Callable[..., None]:
    """The command, for a Typer application.

    Args:
        program: the name that its messages begin with.
    """

    def check(
        certificate: Annotated[Path, typer.Argument(help="A certificate file, or the folder of a run.")],
        messages: Annotated[
            Path | None, typer.Option(help="Folder of the clients' messages; the run's own by default.")
        ] = None,
        jobs: Annotated[
            int | None, typer.Option(min=1, help="Maximum number of processes; all cores by default.")
        ] = None,
        max_memory: Annotated[
            float, typer.Option(min=0, help="GiB of memory that a proof may take, all processes together.")
        ] = 4.0,
        max_work: Annotated[
            float, typer.Option(min=0, help="Minutes of one core that a proof may take.")
        ] = 3000,
    ) -> None:
        """Prove saved certificates again, in ball arithmetic.

        Exit code 0: all are proved; 1: one is not proved; 2: one is unreadable, unknown or too costly.
        """
        raise typer.Exit(_check(program, certificate, messages, jobs, max_memory, max_work))

    return check


def _check(
    program: str, path: Path, messages: Path | None, jobs: int | None, gibibytes: float, minutes: float
) -> int:
    """Check, show the verdicts, and return the exit code."""
    import os

    from rich.console import Console

    from fedcert_check.checking import Refused, Report, certificates, check_each
    from fedcert_check.console import check_table, progress_bars, subjects, unproved
    from fedcert_check.cost import GIB, MINUTE, ProofLimits

    limits = ProofLimits(int(gibibytes * GIB), MINUTE * minutes)
    with progress_bars(Console(stderr=True)) as track:
        outcomes = check_each(certificates(path), messages, jobs or os.cpu_count() or 1, track, limits)
    reports = [outcome for outcome in outcomes if isinstance(outcome, Report)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    for line in dict.fromkeys(line for report in reports for line in report.document.skipped):
        notify(program, line)
    for one in refused:
        notify(program, one.reason)
    if reports:
        console = Console()
        console.print(check_table(reports, refused))
        for text in [*subjects(reports), *(text for report in reports for text in unproved(report))]:
            console.print(text, soft_wrap=True)
    return 2 if refused else 0 if all(report.verdict for report in reports) else 1


def notify(program: str, text: str) -> None:
    """Print one line to standard error.

    Args:
        program: the name that the line begins with.
        text: what to say; line ends and control characters in it do no harm.
    """
    print(f"{program}: {visible(' '.join(text.split()))}", file=sys.stderr)


@contextmanager
def one_line_errors(program: str) -> Iterator[None]:
    """Turn an error that the user or the system can mend into one line and exit code 2.

    Args:
        program: the name that the line begins with.
    """
    try:
        yield
    except FedcertError as error:
        notify(program, str(error))
        raise SystemExit(2) from error
    except OSError as error:
        notify(program, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        raise SystemExit(2) from error


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command()(check_command(PROGRAM))


def main() -> None:
    """Run the command."""
    with one_line_errors(PROGRAM):
        app(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
