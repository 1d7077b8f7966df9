"""The command `fedcert-check`, which is also `fedcert check`. Nothing heavy is imported before it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedcert_check import __version__
from fedcert_check.command import Command, notify
from fedcert_check.errors import FedcertError, UnreadableFile

if TYPE_CHECKING:
    from fedcert_check.cost import ProofLimits
    from fedcert_check.run_folder import RunReport
    from fedcert_check.run_folder.whole_page import MakePage
    from fedcert_check.sampling import Sample

PROGRAM = "fedcert-check"
LOG_COLUMNS = 120  # of output that is not for a terminal


def version_option(text: str) -> Any:
    """The option `--version`, which prints a text and ends the program.

    Args:
        text: names and versions.
    """

    def show(asked: bool) -> bool:
        if asked:
            typer.echo(text)
            raise typer.Exit
        return asked

    return typer.Option("--version", is_eager=True, callback=show, help="Show the version and exit.")


Version = Annotated[bool, version_option(f"{PROGRAM} {__version__}")]


def _show_digest(path: Path | None) -> Path | None:
    """Print the digest of a message, by which certificates name it, and end the program."""
    if path is not None:
        from fedcert_check.files import message_digest

        typer.echo(message_digest(path))
        raise typer.Exit
    return path


Digest = Annotated[
    Path | None,
    typer.Option(
        is_eager=True,
        callback=_show_digest,
        help="Show the digest of a message file, by which certificates name it, and exit.",
        show_default="none",
    ),
]
Certificate = Annotated[Path, typer.Argument(help="A certificate file, or the folder of a run.")]
Messages = Annotated[
    Path | None, typer.Option(help="Folder of the clients' messages.", show_default="the run's own")
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of processes.", show_default="one for each core")
]
MaxMemory = Annotated[
    float, typer.Option(min=0, help="GiB of memory that a proof may take, all processes together.")
]
MaxWork = Annotated[float, typer.Option(min=0, help="Minutes of one core that a proof may take.")]
SampleSize = Annotated[
    int | None,
    typer.Option(min=1, help="Prove this many random properties of each certificate.", show_default="all"),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Of the random choice.", show_default="one that nobody knows")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead of text.", show_default="text")
]
DEFAULT_MEMORY, DEFAULT_WORK = 4.0, 3000.0


def check_command(program: str, make_page: "MakePage | None" = None) -> Callable[..., None]:
    """The command, for a Typer application.

    Args:
        program: the name that its messages begin with.
        make_page: makes the page of a run anew; None if the program cannot.
    """

    def check(
        certificate: Certificate,
        messages: Messages = None,
        jobs: Jobs = None,
        max_memory: MaxMemory = DEFAULT_MEMORY,
        max_work: MaxWork = DEFAULT_WORK,
        sample: SampleSize = None,
        seed: Seed = None,
        as_json: AsJson = False,
        digest: Digest = None,
        version: Version = False,
    ) -> None:
        """Prove saved certificates again, in ball arithmetic, and hold the files of a run against them.

        Exit code 0: all is proved (or, of a sample, not refuted); 1: a certificate is not proved, or the run
        claims what does not follow from its certificates; 2: something is unreadable, unknown or too costly.
        """
        limits = (max_memory, max_work)
        chosen = (sample, seed)
        raise typer.Exit(run_check(program, certificate, messages, jobs, limits, chosen, as_json, make_page))

    return check


def run_check(
    program: str,
    path: Path,
    messages: Path | None,
    jobs: int | None,
    most: tuple[float, float],
    chosen: tuple[int | None, int | None],
    as_json: bool,
    make_page: "MakePage | None" = None,
) -> int:
    """Check, show the verdicts, and return the exit code.

    Args:
        program: the name that messages begin with.
        path: of a certificate, or of the folder of a run.
        messages: the folder of the clients' messages; the run's own where None.
        jobs: maximum number of processes; one for each core where None.
        most: GiB and minutes that a proof may take.
        chosen: how many random properties to prove, and the seed; None for all, and for a secret one.
        as_json: whether to print one JSON object instead of text.
        make_page: makes the page of a run anew; None if the program cannot.
    """
    from fedcert_check.cost import GIB, MINUTE, ProofLimits
    from fedcert_check.sampling import Sample

    limits = ProofLimits(int(most[0] * GIB), MINUTE * most[1])
    sample = None if chosen[0] is None else Sample.of(chosen[0], chosen[1])
    report = _watched(program, path, messages, jobs, limits, sample, make_page)
    for line in dict.fromkeys(line for own in report.reports for line in own.document.skipped):
        notify(program, line)
    for one in report.refused:
        notify(program, one.reason + (f" (see {one.explained_in})" if one.explained_in else ""))
    if as_json:
        import json

        from fedcert_check.run_folder.as_json import as_json as plain_values

        print(json.dumps(plain_values(report), indent=2, allow_nan=False))
    elif report.reports or report.recounted or report.comparison is not None:
        _print(report)
    return report.exit_code


def _watched(
    program: str,
    path: Path,
    messages: Path | None,
    jobs: int | None,
    limits: "ProofLimits",
    sample: "Sample | None",
    make_page: "MakePage | None",
) -> "RunReport":
    """The report; progress is shown on standard error, in bars on a terminal and else in lines."""
    import os

    from rich.console import Console

    from fedcert_check.console import progress
    from fedcert_check.expected import expect
    from fedcert_check.run_folder import check_file, check_run
    from fedcert_check.run_folder.check import certificates_of, confidence_of, say_nothing

    if messages is not None and not messages.is_dir():
        problem = "this is not a folder" if messages.exists() else "this folder does not exist"
        raise UnreadableFile(f"{messages}: {problem}: --messages names the folder of the clients' messages")

    def say(line: str) -> None:
        notify(program, line)

    processes = jobs or os.cpu_count() or 1
    whole = path.is_dir()
    files = [*certificates_of(path), *confidence_of(path)] if whole else [path]
    expected = expect(files, messages, processes, limits, sample)
    if expected.certificates or expected.confidence:
        say(expected.line)
    console = Console(stderr=True)
    with progress(console, program) as track:
        after_each = say_nothing if console.is_terminal else say
        if whole:
            return check_run(path, messages, processes, track, limits, sample, after_each, make_page)
        return check_file(path, messages, processes, track, limits, sample, after_each)


def _print(report: "RunReport") -> None:
    """Print what was proved, the table of verdicts, what is not proved, and the verdict on all of it."""
    import os
    import sys

    from rich.console import Console

    from fedcert_check.console import check_table, plain, sentences, unproved
    from fedcert_check.run_folder.words import comparison_lines, confidence_sentence, last_line

    plain_log = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    console = Console(width=LOG_COLUMNS if plain_log else None)
    folded = not console.is_terminal  # a terminal that folds lines itself cuts figures in two
    drawn = map(plain, map(confidence_sentence, report.recounted))
    for text in [*sentences(report.reports), *drawn]:
        console.print(text, soft_wrap=folded)
    if report.outcomes:
        refused = [own for own in report.refused if own in report.outcomes]
        console.print(check_table(report.reports, refused))
    failures = [text for own in report.reports for text in unproved(own)]
    lines = comparison_lines(report.comparison) if report.comparison is not None else ()
    for text in [*failures, *map(plain, lines), plain(last_line(report))]:
        console.print(text, soft_wrap=folded)


@contextmanager
def one_line_errors(program: str) -> Iterator[None]:
    """Turn an error that the user or the system can mend into one line and exit code 2.

    Args:
        program: the name that the line begins with.
    """
    try:
        yield
    except FedcertError as error:
        notify(program, f"{error} (see {error.explained_in})")
        raise SystemExit(2) from error
    except OSError as error:
        notify(program, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        raise SystemExit(2) from error


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command(cls=Command)(check_command(PROGRAM))


def main() -> None:
    """Run the command."""
    with one_line_errors(PROGRAM):
        app(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
