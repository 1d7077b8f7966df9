"""Runs and grids made by hand, for the tests of reports."""

import io
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from fedcert.app.config import RunConfig
from fedcert.app.output import describe_properties, summarise, write_summary
from fedcert.app.report.picture import Picture
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Spread, Table
from fedcert.app.run import RunResult
from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.data.dataset import Split
from fedcert.families.cells import Cells
from fedcert.laws import DiagonalGaussian
from fedcert.numerics.box import Box
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
    certificates = [
        (
            Certificate(
                Claim(*claim),  # type: ignore[arg-type]
                torch.tensor(lower, dtype=torch.float64),
                None if upper is None else torch.tensor(upper, dtype=torch.float64),
            ),
            0.5,
        )
        for claim, (lower, upper) in BOUNDS.items()
    ]
    estimates = [
        Estimate("mc-ibp", "fedavg", torch.tensor([300, 150]), 300),
        Estimate("mc-ibp", "pog", torch.tensor([200, 250]), 300),
        Estimate("attack-survival", "fedavg", torch.tensor([271, 182]), 300),
        Estimate("aggregated-sampling", "fedavg", torch.tensor([2777, 1111]), 3000),
    ]
    seed = config.get("seed", 0)
    return RunResult(
        RunConfig(clients=2, properties=2, **config),
        {"fedavg": 0.8125, "pog": 0.75},
        certificates,
        estimates,
        {"training": 1.0, "certification": 2.0, "estimates": 4.0, "data": 8.0},
        [message("client-0"), message("client-1")],
        Split(
            torch.tensor([[0.0, 0.2, 0.4, 1.0], [1.0, 0.0, 0.0, seed % 256 / 255]]).double(),
            torch.tensor([3, 7]),
        ),
        (2, 2),
        torch.tensor([True, False]),
        torch.tensor([[11, 19] + [0] * 8, [23, 7] + [0] * 8]),
        refused or {},
    )


def files(run: RunResult) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The contents of result.json and properties.json."""
    return summarise(run), describe_properties(run)


def finished(link: str = "", **config: Any) -> FinishedRun:
    return FinishedRun(*files(result(**config)), link)


def grid(folder: Path, *seeds: int) -> Path:
    """The folder of a grid with a job for each seed."""
    for seed in seeds:
        (folder / "jobs" / f"job-{seed}").mkdir(parents=True)
        write_summary(result(seed=seed), folder / "jobs" / f"job-{seed}")
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
