"""The command line. Nothing heavy is imported before a command runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fedcert.app.grid import options as grid_options
from fedcert_check.cli import check_command, notify, one_line_errors

PROGRAM = "fedcert"
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="With what probability is a one-shot federated Bayesian model safe? Certified lower bounds.",
)


@app.callback()
def fedcert() -> None:
    """Certify the probability that a one-shot federated Bayesian model is safe."""


@app.command()
def run(
    dataset: Annotated[str | None, typer.Option(help="digits, mnist or fashion-mnist.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder that holds the IDX files.")] = None,
    clients: Annotated[int | None, typer.Option(help="Number of clients.")] = None,
    concentration: Annotated[
        float | None,
        typer.Option(help="Dirichlet concentration of the label split; smaller is more skewed."),
    ] = None,
    hidden: Annotated[
        str | None, typer.Option(help="Widths of the hidden layers, for example 64,64.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Posterior standard deviation: a number, or 'learned'.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(help="Aggregation rule: fedavg, pog, linear, server-step, median or trimmed-mean."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="Weights: uniform, size, or one number per client (negative only for linear)."),
    ] = None,
    trim: Annotated[
        int | None, typer.Option(help="Number of values that trimmed-mean drops at each end.")
    ] = None,
    server_rate: Annotated[
        float | None, typer.Option(help="Step size of server-step; 1 equals fedavg.")
    ] = None,
    events: Annotated[str | None, typer.Option(help="Families of events: paper-box,box,projected.")] = None,
    claims: Annotated[str | None, typer.Option(help="Kinds of claims: local,transported,direct.")] = None,
    properties: Annotated[int | None, typer.Option(help="Number of properties.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Radius of the input ball of each property (L-infinity).")
    ] = None,
    margin: Annotated[float | None, typer.Option(help="Logit margin by which the label must win.")] = None,
    gamma: Annotated[
        str | None,
        typer.Option(help="Radii of paper-box events in deviations, for example 3,4,5,6,7."),
    ] = None,
    centers: Annotated[int | None, typer.Option(help="Number of sampled box centres per radius.")] = None,
    cells: Annotated[
        int | None, typer.Option(help="Maximum number of cells per client and property.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Maximum number of cell tuples tried per property.")
    ] = None,
    screen: Annotated[
        bool | None,
        typer.Option(
            "--screen/--no-screen", help="Keep only cells that are safe for the client's own model."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed; the same seed gives the same numbers.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="torch device, for example cpu or cuda.")] = None,
    preset: Annotated[
        str | None, typer.Option(help="Named settings: paper (scale 1e-5, paper-box events).")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file, or the result.json of an earlier run; options override it."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output folder.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier run in the folder.")] = False,
) -> None:
    """Train clients, collect messages, certify the deployed model; a killed run resumes when repeated."""
    options = {
        name: value
        for name, value in locals().items()
        if value is not None and name not in ("preset", "config", "out", "overwrite")
    }
    _run(options, preset, config, out, overwrite)


@app.command()
def certify(
    messages: Annotated[Path, typer.Option(help="Folder of the clients' messages (*.safetensors).")],
    config: Annotated[
        Path, typer.Option(help="TOML file or result.json: data, network, rule, properties, events.")
    ],
    min_clients: Annotated[
        int | None,
        typer.Option(help="Accept at least this many sound messages; all by default."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output folder.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier run in the folder.")] = False,
) -> None:
    """Certify the model deployed from message files; no file is trusted."""
    from rich.console import Console

    from fedcert.app.config import load_config
    from fedcert.app.output import carry_out
    from fedcert.app.serve import Server
    from fedcert_check.console import progress_bars

    settings = load_config(config, {})
    folder = out or Path("runs") / f"{settings.dataset}-{messages.absolute().name}-certified"
    with progress_bars(Console(stderr=True)) as track:
        server = Server.receive(settings, messages, min_clients, track)
        for file, reason in server.accepted.refused.items():
            _notify(f"refused: {file}: {reason}")
        summary = carry_out(
            lambda once: server.certify(track, once), folder, server.identity, overwrite, _notify
        )
    _show(summary, folder)


def _run(
    options: dict[str, Any], preset: str | None, config_file: Path | None, out: Path | None, overwrite: bool
) -> None:
    from rich.console import Console

    from fedcert.app.config import load_config
    from fedcert.app.output import carry_out, identity_of
    from fedcert.app.run import run as train_and_certify
    from fedcert_check.console import progress_bars

    config = load_config(config_file, options, preset)
    folder = out or Path("runs") / f"{config.dataset}-{config.clients}-clients-seed-{config.seed}"
    with progress_bars(Console(stderr=True)) as track:
        summary = carry_out(
            lambda once: train_and_certify(config, track, once),
            folder,
            identity_of(config),
            overwrite,
            _notify,
        )
    _show(summary, folder)


def _notify(text: str) -> None:
    """A line for the user, beside the results."""
    notify(PROGRAM, text)


def _show(summary: Any, folder: Path) -> None:
    """The table of a run, and where its report is."""
    from rich.console import Console

    from fedcert.app.console import summary_table
    from fedcert_check.console import plain

    console = Console()
    console.print(summary_table(summary))
    console.print(plain(f"report: {folder / 'report.html'}"), soft_wrap=True)


@app.command()
def grid(
    preset: Annotated[str, typer.Option(help="miniature, or a TOML file of your own.")] = "miniature",
    data_dir: grid_options.DataDir = None,
    only: grid_options.Only = None,
    events: grid_options.Events = None,
    jobs: grid_options.Jobs = None,
    engine: grid_options.EngineName = "joblib",
    address: grid_options.Address = None,
    shard: grid_options.Shard = None,
    seeds: grid_options.Seeds = None,
    certificates: grid_options.KeepCertificates = False,
    out: grid_options.Out = None,
) -> None:
    """Run many federations, with tables and figures. A killed grid resumes; failed jobs are tried again."""
    from fedcert.app.grid.command import GridOptions, run_grid
    from fedcert.app.grid.preset import load_grid

    chosen = GridOptions(data_dir, only, events, jobs, engine, address, shard, seeds, certificates)

    def write(folder: Path) -> None:
        _report([folder], folder, f"fedcert grid --preset {preset} --out {folder.name}")

    folder = out or Path("runs") / Path(preset).stem
    code = run_grid(load_grid(preset), folder, chosen, write, "fedcert report", _notify)
    if code:
        raise typer.Exit(code)


@app.command()
def report(folders: grid_options.Folders, out: grid_options.Out = None) -> None:
    """Write tables, figures and report.html from the results of grids, shards of grids, or runs."""
    given = " ".join(str(folder) for folder in folders)
    _report(folders, out or folders[0], f"fedcert report {given}")


def _report(folders: list[Path], out: Path, command: str) -> None:
    from fedcert.app.console import show_grid
    from fedcert.app.report.write import write_report

    show_grid(write_report(folders, out, command), out)


app.command()(check_command(PROGRAM))


def main() -> None:
    """Run the command line; an error that the user or the system can mend is one line and exit code 2."""
    with one_line_errors(PROGRAM):
        app(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
