"""The paper's Table 2 as data, its grouping, and what the figures say about how they were made.

The source is "Certified Uncertainty Propagation in One-Shot Federated Bayesian Models via Posterior Event
Transport" by Mohammadi, Badiei, Yaghmaei and Kebriaei. Its tables average over groups of Dirichlet
concentrations, "Non-IID" and "IID", without naming them. The data show that each group holds three of the
nine: MC–IBP entries are means of three values in steps of 5 % (`values_in_steps`), and deviations quoted
for all configurations of a dataset–architecture pair are those of 6 × 3 values (`pooled_column`). We take the
three smallest concentrations and the three largest; those between belong to neither group.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from pathlib import Path
from statistics import stdev
from typing import Any, Literal

from fedcert.app.grid.preset import load_grid
from fedcert.app.report.grouping import AXES
from fedcert.app.report.runs import FinishedRun

GRID = Path(__file__).with_name("paper.toml")

Group = Literal["Non-IID", "IID"]
NON_IID, IID = (0.5, 0.6, 0.7), (5.0, 7.0, 10.0)
BETWEEN = (0.9, 1.0, 2.0)
GROUPS: Mapping[Group, tuple[float, ...]] = {"Non-IID": NON_IID, "IID": IID}
SCALE = 1e-5
LAWS = ("pog", "fedavg")
PRINTED = 0.005 + 1e-9  # figures have two decimals
EVENTS = ("paper-box", "box", "projected")  # the paper's, and ours
MIN_CLIENT_COUNTS = 4  # of a sweep over the number of clients: the paper's grid has three
OURS = frozenset({
    *("data_dir", "device", "events", "claims", "compare", "trim", "server_rate"),
    *("estimates", "attack_samples", "radius", "softmax_margins", "confidence_draws", "confidence"),
})
"""Settings that the paper does not know, or that only say what else is computed."""


@dataclass(frozen=True)
class Entry:
    """A printed mean and its sample standard deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper's Table 2.

    Attributes:
        architecture: hidden layers, such as 1×64.
        dataset: mnist or fashion-mnist.
        clients: how many there are.
        group: of Dirichlet concentrations.
        entries: by law and quantity (acc, local, transported, direct, mc_ibp, seconds), in % and s.
    """

    architecture: str
    dataset: str
    clients: int
    group: Group
    entries: Mapping[tuple[str, str], Entry]


@cache
def table2() -> tuple[PaperRow, ...]:
    """The 36 rows, as printed."""
    text = Path(__file__).with_name("paper_table2.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        PaperRow(
            row["arch"].replace("x", "×"),
            row["dataset"],
            int(row["clients"]),
            "IID" if row["heterogeneity"] == "IID" else "Non-IID",
            {
                (name.partition("_")[0], name.partition("_")[2]): Entry(float(mean), float(row[f"{name}_sd"]))
                for name, mean in row.items()
                if f"{name}_sd" in row
            },
        )
        for row in rows
    )


def group_of(concentration: float) -> Group | None:
    """The group that a concentration belongs to, if any.

    Args:
        concentration: of the Dirichlet partition.
    """
    return next((name for name, members in GROUPS.items() if concentration in members), None)


def follows_protocol(run: FinishedRun) -> bool:
    """Whether a federation has the paper's settings, apart from those that its grid varies.

    Args:
        run: its scale, seed and device, and what only we know of, do not matter here.
    """
    return all(run.config.get(name, value) == value for name, value in protocol().items())


@cache
def protocol() -> Mapping[str, Any]:
    """The settings of the paper that its grid does not vary."""
    config = load_grid(str(GRID)).jobs()[0].config.model_dump(mode="json")
    return {name: value for name, value in config.items() if name not in AXES | OURS}


def in_papers_grid(run: FinishedRun) -> bool:
    """Whether a federation is a point of the paper's grid, with any seed and at any scale."""
    federation = run.architecture, run.dataset, run.clients
    return (
        run.concentration in (*NON_IID, *BETWEEN, *IID)
        and (*federation, "IID") in _rows()
        and follows_protocol(run)
    )


def in_papers_table(run: FinishedRun) -> bool:
    """Whether a federation is behind one of the paper's rows, with any seed: at its scale, and in a group."""
    return run.scale == SCALE and group_of(run.concentration) is not None and in_papers_grid(run)


def papers_grid(runs: Sequence[FinishedRun], scale: float | str = SCALE) -> list[FinishedRun]:
    """The federations of the paper's grid at a scale, with all nine concentrations.

    Args:
        runs: of a grid.
        scale: of the posteriors.
    """
    return [run for run in runs if run.scale == scale and in_papers_grid(run)]


def row_of(run: FinishedRun) -> PaperRow | None:
    """The row of the paper's table that a federation would belong to, whatever its other settings."""
    return _rows().get((run.architecture, run.dataset, run.clients, group_of(run.concentration)))


@cache
def _rows() -> Mapping[tuple[str, str, int, Group | None], PaperRow]:
    return {(row.architecture, row.dataset, row.clients, row.group): row for row in table2()}


def pairs() -> tuple[tuple[str, str], ...]:
    """The six pairs of dataset and architecture, in the order of the table."""
    return tuple(dict.fromkeys((row.dataset, row.architecture) for row in table2()))


def rows_of(dataset: str, architecture: str) -> tuple[PaperRow, ...]:
    """The six rows of a dataset–architecture pair.

    Args:
        dataset: mnist or fashion-mnist.
        architecture: hidden layers, such as 1×64.
    """
    return tuple(row for row in table2() if (row.dataset, row.architecture) == (dataset, architecture))


def pooled(entries: Sequence[Entry], counts: Sequence[int]) -> Entry:
    """Mean and sample standard deviation of all values behind several entries.

    Args:
        entries: each of a group of values.
        counts: how many values each group holds.
    """
    groups, total = list(zip(counts, entries, strict=True)), sum(counts)
    mean = sum(n * entry.mean for n, entry in groups) / total
    squares = sum((n - 1) * entry.deviation**2 + n * (entry.mean - mean) ** 2 for n, entry in groups)
    return Entry(mean, math.sqrt(squares / (total - 1)))


@cache
def values_in_steps(entry: Entry, step: float = 5.0, count: int = 3) -> tuple[tuple[float, ...], ...]:
    """Every choice of values whose mean and deviation are an entry, to the printed digits.

    Args:
        entry: a printed mean and deviation, in %.
        step: the values are multiples of it, up to 100.
        count: how many values there are.

    >>> values_in_steps(Entry(96.67, 2.89))
    ((95.0, 95.0, 100.0),)
    """
    lattice = [step * k for k in range(int(100 / step) + 1)]
    return tuple(
        values
        for values in combinations_with_replacement(lattice, count)
        if abs(sum(values) / count - entry.mean) <= PRINTED
        and abs(stdev(values) - entry.deviation) <= PRINTED
    )


def configurations(row: PaperRow, law: str) -> int:
    """How many configurations a row averages: three, or two where only two values explain its MC–IBP.

    Args:
        row: of the table.
        law: pog or fedavg.
    """
    entry = row.entries[law, "mc_ibp"]
    return 2 if values_in_steps(entry, count=2) and not values_in_steps(entry) else 3


def pooled_column(rows: Sequence[PaperRow], law: str, quantity: str) -> Entry:
    """Mean and deviation of a column over all configurations of some rows.

    Args:
        rows: of the table.
        law: pog or fedavg.
        quantity: see `PaperRow`.
    """
    return pooled([row.entries[law, quantity] for row in rows], [configurations(row, law) for row in rows])


def direct_shares() -> list[tuple[PaperRow, float]]:
    """Direct over MC–IBP under FedAvg: the mass of the accepted cells, where acceptance is all or nothing."""
    shares = (row.entries["fedavg", "direct"].mean / row.entries["fedavg", "mc_ibp"].mean for row in table2())
    return list(zip(table2(), shares, strict=True))
