"""The command line. Nothing heavy is imported before a command runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fedcert import __version__
from fedcert.app import options, table_options
from fedcert.app.certify_command import certify
from fedcert.app.check_command import check
from fedcert.app.defaults import CommandOfSettings
from fedcert.app.examples import epilog
from fedcert.app.grid import options as grid_options
from fedcert.app.options import Check, Overwrite
from fedcert.app.showing import PROGRAM, say, show
from fedcert_check import __version__ as checker_version
from fedcert_check.cli import one_line_errors, version_option
from fedcert_check.command import Command, ResumableCommand

Version = Annotated[bool, version_option(f"{PROGRAM} {__version__} (fedcert-check {checker_version})")]
OUTSIDE = ("preset", "config", "out", "overwrite", "check", "engine", "address", "jobs")
"""Options that are no settings of a run."""
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="With what probability is a one-shot federated Bayesian model safe? Proven lower and upper bounds.",
    epilog="Start with:  fedcert run --properties 20 --epsilon 0.01 --out runs/first --check",
)


@app.callback()
def fedcert(version: Version = False) -> None:
    """Certify the probability that a one-shot federated Bayesian model is safe."""


@app.command(cls=CommandOfSettings, epilog=epilog("run"))
def run(
    dataset: Annotated[
        str | None, typer.Option(help="digits, mnist, fashion-mnist or heart-disease; the name of a table.")
    ] = None,
    data_dir: grid_options.DataDir = None,
    data: table_options.Data = None,
    target: table_options.Target = None,
    client_column: table_options.ClientColumn = None,
    errors: table_options.Errors = None,
    missing: table_options.Missing = None,
    test_share: table_options.TestShare = None,
    clients: Annotated[
        int | None,
        typer.Option(help="Number of clients; heart-disease and tables name theirs."),
    ] = None,
    concentration: Annotated[
        float | None,
        typer.Option(
            help="Dirichlet concentration of the label split; smaller is more skewed. Not for heart-disease"
            " and tables."
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            help="mlp:64,64 (widths of hidden layers), or for images cnn:16,32 (channels of convolutions),"
            " cnn:8,16/32 (and widths after them).",
            show_default="mlp:64; heart-disease and tables: mlp:16",
        ),
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(
            help="Short for --network mlp: widths of the hidden layers, for example 64,64.",
            show_default="64; heart-disease and tables: 16",
        ),
    ] = None,
    posterior: Annotated[
        str | None,
        typer.Option(
            help="How clients learn: bbb (Bayes by Backprop), laplace, or ensemble (several Laplaces)."
        ),
    ] = None,
    structure: Annotated[
        str | None,
        typer.Option(
            help="Covariance of laplace: diag (independent weights), kron (Kronecker factors of each layer),"
            " last-layer-kron or last-layer-full (all other layers fixed); all but diag by laplace-torch."
        ),
    ] = None,
    prior_precision: Annotated[
        float | None,
        typer.Option(
            help="Precision of the prior in Laplace's law, for example 30.",
            show_default="what maximises the marginal likelihood",
        ),
    ] = None,
    members: Annotated[int | None, typer.Option(help="Number of networks in a client's ensemble.")] = None,
    train_together: Annotated[
        bool | None,
        typer.Option(
            "--train-together/--no-train-together",
            help="Train all clients in one batch, on the device (only bbb): faster, and equal to training"
            " apart up to rounding.",
        ),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Posterior standard deviation: a number, or 'learned'.")
    ] = None,
    rule: options.Rule = None,
    weights: options.Weights = None,
    trim: options.Trim = None,
    server_rate: Annotated[
        float | None, typer.Option(help="Step size of server-step; 1 equals fedavg.")
    ] = None,
    prior_scale: options.PriorScale = None,
    events: options.Events = None,
    claims: options.Claims = None,
    compare: options.Compare = None,
    inputs: Annotated[
        str | None,
        typer.Option(
            help="Which test inputs become properties: the first ones as they come, random ones, or only"
            " correct ones (classified correctly by the mean model: the bounds are then no accuracy)."
        ),
    ] = None,
    properties: Annotated[
        str | None,
        typer.Option(
            help="Number of inputs that become properties, or all.",
            show_default="200; digits, heart-disease and tables: all",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Radii of the balls around the inputs (L-infinity): 0.001,0.01; for tables: multiples of the"
            " measurement errors.",
            show_default="0.001,0.01,0.03; heart-disease and tables: 0,1,2",
        ),
    ] = None,
    radius: options.Radius = None,
    softmax_margins: options.SoftmaxMargins = None,
    confidence_draws: options.ConfidenceDraws = None,
    confidence: options.Confidence = None,
    estimates: options.Estimates = None,
    margin: options.Margin = None,
    gamma: options.Gamma = None,
    centers: Annotated[int | None, typer.Option(help="Number of sampled box centres per radius.")] = None,
    cells: Annotated[
        int | None, typer.Option(help="Maximum number of cells per client and property.")
    ] = None,
    budget: options.Budget = None,
    screen: Annotated[
        bool | None,
        typer.Option(
            "--screen/--no-screen", help="Keep only cells that are safe for the client's own model."
        ),
    ] = None,
    seed: options.Seed = None,
    device: options.Device = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Named settings: paper (scale 1e-5, paper-box events).", show_default="none"),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file, or the result.json of an earlier run; options override it.", show_default="none"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Output folder.", show_default="runs/DATASET-CLIENTS-clients-seed-SEED"),
    ] = None,
    overwrite: Overwrite = False,
    check: Check = False,
    engine: options.EngineName = None,
    address: options.Address = None,
    jobs: options.Jobs = None,
) -> None:
    """Train clients, collect messages and certify the deployed model; a killed run resumes when repeated."""
    given = {name: value for name, value in locals().items() if value is not None and name not in OUTSIDE}
    _run(given, preset, config, out, overwrite, check, (engine, address, jobs))


app.command(cls=CommandOfSettings, epilog=epilog("certify"))(certify)


def _run(
    options: dict[str, Any],
    preset: str | None,
    config_file: Path | None,
    out: Path | None,
    overwrite: bool,
    check: bool,
    where: tuple[str | None, str | None, int | None],
) -> None:
    from rich.console import Console

    from fedcert.app.config import load_config
    from fedcert.app.data_settings import notices, table_settings
    from fedcert.app.engines import engine_of_pieces
    from fedcert.app.output import carry_out
    from fedcert.app.reprove import independent_checker
    from fedcert.app.run import run as train_and_certify
    from fedcert.app.summary import identity_of
    from fedcert_check.console import progress

    config = load_config(config_file, table_settings(options), preset)
    engine = engine_of_pieces(*where, config.device)
    for notice in notices(config.table):
        say(notice)
    folder = out or Path("runs") / f"{config.dataset}-{config.clients}-clients-seed-{config.seed}"
    with progress(Console(stderr=True), PROGRAM) as track:
        summary = carry_out(
            lambda once: train_and_certify(config, track, once, engine),
            folder,
            identity_of(config),
            overwrite,
            say,
            independent_checker(track, say) if check else None,
        )
    show(summary, folder, check)


@app.command(cls=ResumableCommand, epilog=epilog("grid"))
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
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="runs/PRESET")] = None,
) -> None:
    """Run many federations and write tables and figures; a repeated command resumes and retries failures."""
    from fedcert.app.grid.command import GridOptions, run_grid
    from fedcert.app.grid.preset import load_grid

    chosen = GridOptions(data_dir, only, events, jobs, engine, address, shard, seeds, certificates)

    def write(folder: Path) -> None:
        _report([folder], folder, f"fedcert grid --preset {preset} --out {folder.name}")

    folder = out or Path("runs") / Path(preset).stem
    code = run_grid(load_grid(preset), folder, chosen, write, "fedcert report", say)
    if code:
        raise typer.Exit(code)


@app.command(cls=Command, epilog=epilog("report"))
def report(folders: grid_options.Folders, out: grid_options.Out = None) -> None:
    """Write tables, figures and report.html from the results of grids, shards of grids, or runs."""
    given = " ".join(str(folder) for folder in folders)
    _report(folders, out or folders[0], f"fedcert report {given}")


def _report(folders: list[Path], out: Path, command: str) -> None:
    from fedcert.app.console import show_grid
    from fedcert.app.report.write import write_report

    show_grid(write_report(folders, out, command), out)


app.command(cls=Command, epilog=epilog("check"))(check)


def main() -> None:
    """Run the command line; an error in the input or the system prints one line and exits with code 2."""
    with one_line_errors(PROGRAM):
        app(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
