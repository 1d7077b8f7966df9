"""The options of a grid on a command line, for `fedcert grid` and programs with their own grid."""

from pathlib import Path
from typing import Annotated

import typer

DataDir = Annotated[Path | None, typer.Option(help="Folder that holds the IDX files.")]
Only = Annotated[
    str | None,
    typer.Option(help="Run only the jobs with these settings: dataset=mnist,clients=2,3,hidden=64x64."),
]
Events = Annotated[str | None, typer.Option(help="Families of events: paper-box,box,projected.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Number of parallel jobs; by default one per core.")]
EngineName = Annotated[str, typer.Option(help="Where jobs run: joblib (this machine) or ray (a cluster).")]
Address = Annotated[str | None, typer.Option(help="Address of a Ray cluster, such as auto.")]
Shard = Annotated[str | None, typer.Option(help="Run part i of n, written i/n, for job arrays.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="Number of seeds to repeat everything with.")]
KeepCertificates = Annotated[
    bool, typer.Option("--certificates", help="Keep each job's messages and certificates.")
]
Folders = Annotated[list[Path], typer.Argument(help="Folders of grids or runs; their results are merged.")]
Out = Annotated[Path | None, typer.Option(help="Output folder.")]
