"""Options that several commands have in common; those without a value are settings that a file may set."""

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
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Where inputs are certified: joblib (processes on this machine) or ray (a cluster).",
        show_default="in this process",
    ),
]
CheckEngine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Where properties are proved: joblib (processes on this machine) or ray (a cluster).",
        show_default="processes of the checker",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(help="Address of a Ray cluster, such as auto.", show_default="a cluster of its own"),
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes that certify.", show_default="one for each core"),
]
Rule = Annotated[
    str | None,
    typer.Option(
        help="Aggregation rule (docs/rules.md): fedavg, pog (also called conflation and consensus),"
        " prior-corrected, wasserstein, reverse-kl, forward-kl, averaged-variances, linear, server-step,"
        " median, trimmed-mean or pooling."
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        help="Weights: uniform, size, or one number per client (negative only for linear).",
        show_default="uniform; heart-disease and tables: size",
    ),
]
Trim = Annotated[int | None, typer.Option(help="Number of values that trimmed-mean drops at each end.")]
PriorScale = Annotated[
    float | None,
    typer.Option(
        help="Standard deviation of the clients' prior, which prior-corrected divides out.",
        show_default="the prior of the training",
    ),
]
Events = Annotated[str | None, typer.Option(help="Families of events: paper-box,box,projected, or all.")]
Claims = Annotated[str | None, typer.Option(help="Kinds of claims: local,transported,direct.")]
Compare = Annotated[
    str | None, typer.Option(help="Rules to compare with, for example pog.", show_default="none")
]
Radius = Annotated[
    str | None,
    typer.Option(
        help="Also find the largest radius of each input that is certified with these probabilities,"
        " for example 0.5,0.95.",
        show_default="none",
    ),
]
SoftmaxMargins = Annotated[
    str | None,
    typer.Option(
        help="Also prove these logit margins, for example 1,2,4: how many decisions by mean softmax are"
        " robust follows from them.",
        show_default="none",
    ),
]
ConfidenceDraws = Annotated[
    int | None, typer.Option(help="Models to draw for a confidence bound; 0 for none.")
]
Confidence = Annotated[
    float | None, typer.Option(help="Confidence of confidence bounds and of statements on new inputs.")
]
Estimates = Annotated[
    str | None,
    typer.Option(help="Monte Carlo estimates: attack-survival,mc-ibp,aggregated-sampling."),
]
Margin = Annotated[float | None, typer.Option(help="Logit margin by which the label must win.")]
Gamma = Annotated[
    str | None,
    typer.Option(help="Radii of paper-box events in deviations, for example 3,4,5,6,7."),
]
Budget = Annotated[int | None, typer.Option(help="Maximum number of cell tuples tried per property.")]
Seed = Annotated[int | None, typer.Option(help="Random seed; the same seed gives the same numbers.")]
Device = Annotated[str | None, typer.Option(help="torch device, for example cpu or cuda.")]
