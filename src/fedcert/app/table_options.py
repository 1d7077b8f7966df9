"""Options of commands that name a table of the user's own."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option(
        help="CSV file with a header, one row an example, in place of a data set.", show_default="none"
    ),
]
Target = Annotated[
    str | None, typer.Option(help="Column of --data with the classes 0, 1, ….", show_default="none")
]
ClientColumn = Annotated[
    str | None, typer.Option(help="Column of --data that says whose each row is.", show_default="none")
]
Errors = Annotated[
    Path | None,
    typer.Option(
        help='TOML file with the measurement error of each column that is not exact: chol = "5 %".',
        show_default="every column, by its scale",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(help="Rows of --data with missing values: refuse or drop.", show_default="refuse"),
]
TestShare = Annotated[
    float | None,
    typer.Option(help="Share of each client's rows that is set aside for tests.", show_default="0.25"),
]
