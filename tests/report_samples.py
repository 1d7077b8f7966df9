"""Runs and grids made by hand, for the tests of reports."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from fedcert.app.clients import Examples
from fedcert.app.config import RunConfig
from fedcert.app.inputs import Inputs
from fedcert.app.output import write_summary
from fedcert.app.proofs import Drawn, Proven, ProvenRadii
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Spread, Table
from fedcert.app.run import RunResult
from fedcert.app.summary import describe_properties, summarise
from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.confidence import ConfidenceBound
from fedcert.data.dataset import Split
from fedcert.families.cells import Cells
from fedcert.federation.radius import CertifiedRadii
from fedcert.laws import DiagonalGaussian
from fedcert.model.features import Feature
from fedcert.model.robustness import Origin
from fedcert.numerics.box import Box
from fedcert.wire.certificate_file import certificate_file
from fedcert.wire.message import Message

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>--><b>&amp;\"'</b>"
BOUNDS = {  # by claim, for two properties: L, and U
    ("local", "fedavg", "projected"): ([0.9, 0.9], None),
    ("direct", "fedavg", "projected"): ([0.123456, 0.99999], [0.25, 1.0]),
    ("direct", "pog", "projected"): ([0.654321, 0.654321], [0.71, 0.81]),
}


def message(client: str) -> Message:
    law = DiagonalGaussian(torch.zeros(1).double(), torch.ones(1).double())
    cell = Box(torch.zeros(1, 1).double(), torch.ones(1, 1).double())
    return Message(client, law, Cells.shared(cell, law.log_mass(cell)), 30)


def result(refused: dict[str, str] | None = None, **config: Any) -> RunResult:
    """A run by hand: two clients, two properties, of which an attack breaks the first."""
    settings = RunConfig(clients=2, properties=2, **{"epsilon": 1e-3, "compare": ("pog",)} | config)
    inputs = chosen_inputs(settings.seed)
    estimates = [
        Estimate("mc-ibp", "fedavg", torch.tensor([300, 150]), 300),
        Estimate("mc-ibp", "pog", torch.tensor([200, 250]), 300),
        Estimate("attack-survival", "fedavg", torch.tensor([271, 182]), 300),
        Estimate("aggregated-sampling", "fedavg", torch.tensor([2777, 1111]), 3000),
    ]
    return RunResult(
        config=settings,
        accuracy={"fedavg": 0.8125, "pog": 0.75},
        inputs=inputs,
        subject=inputs.properties_within(settings.epsilon[0], 0.0, 10).subject,
        accuracy_on_inputs=0.5,
        accuracy_by_client=[],
        proven=[one for epsilon in settings.epsilon for one in proven(inputs, epsilon)],
        proven_at_margins=[],
        radii=[],
        drawn=[],
        estimates=[(epsilon, estimate) for epsilon in settings.epsilon for estimate in estimates],
        timings={"training": 1.0, "certification": 2.0, "estimates": 4.0, "data": 8.0},
        messages=[message("client-0"), message("client-1")],
        examples=Examples(inputs.examples, inputs.examples, inputs.examples, 10, (2, 2)),
        attacked=dict.fromkeys(settings.epsilon, torch.tensor([True, False])),
        histograms=torch.tensor([[11, 19] + [0] * 8, [23, 7] + [0] * 8]),
        refused=refused or {},
    )


def searched() -> RunResult:
    """The same run with certified radii, a confidence bound and a certificate for another margin."""
    run = result()
    deployed = next(
        one for one in run.proven if one.certificate.claim == Claim("direct", "fedavg", "projected")
    )
    limits = [torch.tensor(ends, dtype=torch.float64) for ends in ([0.4, 0.55], [0.9, 0.95])]
    counts = torch.tensor([60, 80]), torch.tensor([15, 5])
    bound = ConfidenceBound("fedavg", limits[0], limits[1], *counts, 100, 0.05, "ab" * 32)
    found = {0.5: [0.0123456, 0.25], 0.95: [0.0, 0.06]}
    return replace(
        run,
        proven_at_margins=[replace(deployed, margin=-0.5, file="certificates/margin.safetensors")],
        radii=[
            ProvenRadii(
                CertifiedRadii(torch.tensor(radii, dtype=torch.float64), deployed.certificate),
                threshold,
                f"certificates/radius-{threshold}.safetensors",
                0.5,
            )
            for threshold, radii in found.items()
        ],
        drawn=[Drawn(bound, deployed.epsilon, "confidence/fedavg.safetensors", 0.5)],
    )


def measured() -> RunResult:
    """A run with measurements: two patients of two wards, and errors of one of four values."""
    run = result(epsilon=(0.0, 1.0, 2.0))
    features = (Feature("bp", "mmHg", 128.0, 16.0), *(Feature(f"code-{j}") for j in range(3)))
    error = torch.tensor([[0.3125, 0.0, 0.0, 0.0]] * 2, dtype=torch.float64)
    whose = torch.tensor([0, 1])
    examples = replace(run.inputs.examples, error=error, client=whose)
    inputs = replace(run.inputs, examples=examples, features=features)
    return replace(
        run,
        inputs=inputs,
        examples=Examples(examples, examples, examples, 10, None, features, ("client-0", "client-1")),
        accuracy_by_client=[("client-0", 1, 0.0), ("client-1", 1, 1.0)],
        proven=[one for epsilon in run.config.epsilon for one in proven(inputs, epsilon)],
    )


def chosen_inputs(seed: int = 0) -> Inputs:
    """The first two of forty images."""
    x = torch.tensor([[0.0, 0.2, 0.4, 1.0], [1.0, 0.0, 0.0, seed % 256 / 255]]).double()
    index = torch.arange(2)
    return Inputs(Split(x, torch.tensor([3, 7]), index), Origin("digits", "first", 40, None, index))


def proven(inputs: Inputs, epsilon: float) -> Iterator[Proven]:
    """The certificates at one radius; larger radii have smaller bounds."""
    properties = inputs.properties_within(epsilon, 0.0, 10)
    for names, bounds in BOUNDS.items():
        claim = Claim(*names)  # type: ignore[arg-type]
        lower, upper = (
            None if bound is None else torch.tensor(bound, dtype=torch.float64) / (1 + max(0, epsilon - 1e-3))
            for bound in bounds
        )
        assert lower is not None
        file = certificate_file(claim, f"eps-{epsilon!r}")
        yield Proven(Certificate(claim, lower, upper), properties, epsilon, 0.0, file, 0.5)


def files(run: RunResult) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The contents of result.json and properties.json."""
    return summarise(run, {}), describe_properties(run)  # type: ignore[return-value]


def finished(link: str = "", **config: Any) -> FinishedRun:
    return FinishedRun(*files(result(**config)), link)


def grid(folder: Path, *seeds: int) -> Path:
    """The folder of a grid with a job for each seed."""
    for seed in seeds:
        (folder / "jobs" / f"job-{seed}").mkdir(parents=True)
        write_summary(result(seed=seed), folder / "jobs" / f"job-{seed}", {})
    return folder


def table(rows: int = 3) -> Table:
    """Names, numbers of clients, spreads (falling, the second without a deviation) and, once, nothing."""
    return Table(
        "sample",
        "A sample",
        "What the figures mean.",
        (Column("name"), Column("clients"), Column("direct", 1, "proven"), Column("gap", 3, "proven")),
        tuple(
            (
                f"row-{i}",
                (7 * i) % 5 + 8,
                Spread(99.0 - 10 * i, None if i == 1 else 0.5, 3),
                None if i == 0 else i / 8,
            )
            for i in range(rows)
        ),
    )


def picture(name: str) -> Picture:
    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([0, 1], [0, 1])
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return Picture(name, f"Figure {name}", "What is to be seen.", svg[svg.index("<svg") :], b"", b"")
