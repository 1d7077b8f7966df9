"""The command `fedcert certify`: messages in, certificates out. Nothing heavy is imported before it runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fedcert.app import options
from fedcert.app.showing import PROGRAM, say, show

ABOUT = ("posteriors", "messages", "model", "inputs", "boxes", "properties", "domain", "min_clients")
OUTSIDE = (*ABOUT, "config", "out", "overwrite", "check", "engine", "address", "jobs")
"""Options that are no settings of a run by themselves."""


def certify(
    posteriors: Annotated[
        list[Path] | None,
        typer.Argument(help="Message files, or folders of them.", show_default="see --messages"),
    ] = None,
    messages: Annotated[
        Path | None,
        typer.Option(help="Folder of the clients' messages (*.safetensors).", show_default="the arguments"),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="The network: model.toml (docs/messages.md) or model.onnx.", show_default="that of --config"
        ),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            help="npz file with inputs x and labels y, or with constraints C and d in place of y.",
            show_default="the data of --config",
        ),
    ] = None,
    boxes: Annotated[
        bool,
        typer.Option(
            "--boxes",
            help="Certify the boxes between the arrays lower and upper of --inputs.",
            show_default="balls around x",
        ),
    ] = False,
    properties: Annotated[
        Path | None,
        typer.Option(
            help="VNN-LIB file that states what is unsafe, in place of --inputs.", show_default="none"
        ),
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            help="Smallest and largest value of an input, for example 0,1: regions are cut to it.",
            show_default="no limits",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Radii of the balls around inputs (L-infinity), or what boxes are widened by.",
            show_default="for boxes 0; inputs need one",
        ),
    ] = None,
    rule: options.Rule = None,
    weights: options.Weights = None,
    trim: options.Trim = None,
    prior_scale: options.PriorScale = None,
    events: options.Events = None,
    claims: options.Claims = None,
    compare: options.Compare = None,
    radius: options.Radius = None,
    softmax_margins: options.SoftmaxMargins = None,
    confidence_draws: options.ConfidenceDraws = None,
    confidence: options.Confidence = None,
    estimates: options.Estimates = None,
    margin: options.Margin = None,
    gamma: options.Gamma = None,
    budget: options.Budget = None,
    clients: Annotated[
        int | None,
        typer.Option(help="Number of clients that should have sent one.", show_default="of --config, or all"),
    ] = None,
    min_clients: Annotated[
        int | None,
        typer.Option(help="Accept at least this many sound messages.", show_default="one from each client"),
    ] = None,
    seed: options.Seed = None,
    device: options.Device = None,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file or result.json: data, network, rule, properties, events; options override it.",
            show_default="none",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder.", show_default="runs/DATASET-MESSAGES-certified")
    ] = None,
    overwrite: options.Overwrite = False,
    check: options.Check = False,
    engine: options.EngineName = None,
    address: options.Address = None,
    jobs: options.Jobs = None,
) -> None:
    """Certify the model deployed from message files, which are not trusted; see docs/messages.md."""
    given = locals()
    settings = {name: own for name, own in given.items() if own is not None and name not in OUTSIDE}
    about = {name: given[name] for name in ABOUT}
    _certify(about, settings, config, out, overwrite, check, (engine, address, jobs))


def _certify(
    about: dict[str, Any],
    settings: dict[str, Any],
    config: Path | None,
    out: Path | None,
    overwrite: bool,
    check: bool,
    where: tuple[str | None, str | None, int | None],
) -> None:
    from rich.console import Console

    from fedcert.app.certify_settings import certify_settings, files_of
    from fedcert.app.config import load_config
    from fedcert.app.engines import engine_of_pieces
    from fedcert.app.output import carry_out
    from fedcert.app.reprove import independent_checker
    from fedcert.app.serve import Server
    from fedcert_check.console import progress

    files = files_of(about["posteriors"], about["messages"])
    asked = load_config(config, certify_settings(about, settings, config, len(files)))
    engine = engine_of_pieces(*where, asked.device)
    folder = out or Path("runs") / f"{asked.dataset}-{files[0].resolve().parent.name}-certified"
    with progress(Console(stderr=True), PROGRAM) as track:
        server = Server.receive(asked, files, about["min_clients"], track)
        for file, reason in server.accepted.refused.items():
            say(f"refused: {file}: {reason}")
        summary = carry_out(
            lambda once: server.certify(track, once, engine),
            folder,
            server.identity,
            overwrite,
            say,
            independent_checker(track, say) if check else None,
        )
    show(summary, folder, check)
