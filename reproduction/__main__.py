"""The paper's whole evaluation with one command: `python -m reproduction`; killed, it resumes."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fedcert.app.grid import options
from fedcert_check.cli import one_line_errors
from fedcert_check.command import notify

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
OUT = Path("runs/paper")
PROGRAM = "reproduction"


@app.callback(invoke_without_command=True)
def reproduce(
    context: typer.Context,
    data_dir: options.DataDir = None,
    only: options.Only = None,
    events: options.Events = None,
    jobs: options.Jobs = None,
    engine: options.EngineName = "joblib",
    address: options.Address = None,
    shard: options.Shard = None,
    seeds: options.Seeds = None,
    certificates: options.KeepCertificates = False,
    out: Annotated[Path, typer.Option(help="Output folder.")] = OUT,
) -> None:
    """Run the paper's evaluation, and ours beside it. A killed one resumes; failed jobs are tried again."""
    if context.invoked_subcommand is not None:
        return
    from fedcert.app.grid.command import GridOptions, run_grid
    from fedcert.app.grid.preset import load_grid
    from reproduction.paper import GRID

    chosen = GridOptions(data_dir, only, events, jobs, engine, address, shard, seeds, certificates)

    def write(folder: Path) -> None:
        _report([folder], folder, f"python -m reproduction --out {out}")

    if code := run_grid(
        load_grid(str(GRID)), out, chosen, write, "python -m reproduction report", partial(notify, PROGRAM)
    ):
        raise typer.Exit(code)


@app.command()
def report(folders: options.Folders, out: options.Out = None) -> None:
    """Write the tables, figures and report.html of the reproduction from the results in some folders."""
    given = " ".join(str(folder) for folder in folders)
    _report(folders, out or folders[0], f"python -m reproduction report {given}")


def _report(folders: list[Path], out: Path, command: str) -> None:
    from fedcert.app.console import show_grid
    from fedcert.app.report.write import write_report
    from reproduction.figures import FIGURES
    from reproduction.tables import TABLES

    show_grid(write_report(folders, out, command, TABLES, FIGURES), out)


def main() -> None:
    """Run the command line; an error that the user or the system can mend is one line and exit code 2."""
    with one_line_errors(PROGRAM):
        app(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
