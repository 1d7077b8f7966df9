"""The command `fedcert certify`: messages in, certificates out. Nothing heavy is imported before it runs."""

from pathlib import Path
from typing import Annotated

import typer

from fedcert.app.options import Check, Overwrite
from fedcert.app.showing import PROGRAM, say, show


def certify(
    messages: Annotated[Path, typer.Option(help="Folder of the clients' messages (*.safetensors).")],
    config: Annotated[
        Path, typer.Option(help="TOML file or result.json: data, network, rule, properties, events.")
    ],
    min_clients: Annotated[
        int | None,
        typer.Option(help="Accept at least this many sound messages.", show_default="one from each client"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder.", show_default="runs/DATASET-MESSAGES-certified")
    ] = None,
    overwrite: Overwrite = False,
    check: Check = False,
) -> None:
    """Certify the model deployed from message files; no file is trusted."""
    from rich.console import Console

    from fedcert.app.config import load_config
    from fedcert.app.output import carry_out
    from fedcert.app.reprove import independent_checker
    from fedcert.app.serve import Server
    from fedcert_check.console import progress

    settings = load_config(config, {})
    folder = out or Path("runs") / f"{settings.dataset}-{messages.absolute().name}-certified"
    with progress(Console(stderr=True), PROGRAM) as track:
        server = Server.receive(settings, messages, min_clients, track)
        for file, reason in server.accepted.refused.items():
            say(f"refused: {file}: {reason}")
        summary = carry_out(
            lambda once: server.certify(track, once),
            folder,
            server.identity,
            overwrite,
            say,
            independent_checker(track, say) if check else None,
        )
    show(summary, folder, check)
