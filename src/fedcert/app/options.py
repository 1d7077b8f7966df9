"""Options that several commands have in common."""

from typing import Annotated

import typer

Overwrite = Annotated[bool, typer.Option(help="Replace an earlier run in the folder.")]
Check = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Prove every certificate again with the independent checker.",
        show_default="not proved again",
    ),
]
