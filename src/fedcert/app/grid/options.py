"""The options of a grid on a command line, for `fedcert grid` and programs with their own grid."""

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[
    Path | None,
    typer.Option(
        help="Folder that holds the IDX files.", show_default="FEDCERT_DATA, or a cache that is downloaded"
    ),
]
Only = Annotated[
    str | None,
    typer.Option(
        help="Run only the jobs with these settings: dataset=mnist,clients=2,3,hidden=64x64.",
        show_default="all jobs",
    ),
]
Events = Annotated[
    str | None,
    typer.Option(help="Families of events: paper-box,box,projected.", show_default="as the preset says"),
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Number of parallel jobs.", show_default="one for each core")
]
EngineName = Annotated[str, typer.Option(help="Where jobs run: joblib (this machine) or ray (a cluster).")]
Address = Annotated[
    str | None,
    typer.Option(help="Address of a Ray cluster, such as auto.", show_default="a cluster of its own"),
]
Shard = Annotated[
    str | None,
    typer.Option(help="Run part i of n, written i/n, for job arrays.", show_default="all parts"),
]
Seeds = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of seeds to repeat everything with.", show_default="the preset's own seeds"
    ),
]
KeepCertificates = Annotated[
    bool,
    typer.Option(
        "--certificates", help="Keep each job's messages and certificates.", show_default="they are not kept"
    ),
]
Folders = Annotated[list[Path], typer.Argument(help="Folders of grids or runs; their results are merged.")]
Out = Annotated[Path | None, typer.Option(help="Output folder.", show_default="the first of the folders")]
