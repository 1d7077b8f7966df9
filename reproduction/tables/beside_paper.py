"""Our figures beside the paper's: its rows, its aggregates, and what its text quotes."""

from collections.abc import Sequence
from dataclasses import dataclass

from fedcert.app.report.grouping import averaged
from fedcert.app.report.measures import Measure, accuracy, bound, estimate
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Spread, Table, Value
from fedcert.app.report.words import DATASET_NAMES, RULE_NAMES
from reproduction import paper
from reproduction.paper import Entry, PaperRow
from reproduction.quoted import quotes

JUDGED = ("direct", "mc_ibp")
HEADINGS = {
    "acc": "Acc. (%)", "local": "L^loc (%)", "transported": "L^tr (%)", "direct": "L^dir (%)",
    "mc_ibp": "MC–IBP (%)",
}  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """Our figure and the paper's.

    Attributes:
        ours: over the same configurations; None where there are none.
        paper: as printed, or pooled.
        count: how many configurations the paper's figure stands for.
    """

    ours: Spread | None
    paper: Entry
    count: int

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None else self.ours.mean - self.paper.mean

    def within(self, deviations: float) -> bool:
        """Whether ours is that many of the paper's deviations from its figure, or equal as printed."""
        reach = max(deviations * self.paper.deviation, paper.PRINTED)
        return self.difference is not None and abs(self.difference) <= reach

    def entries(self) -> list[Value]:
        """Ours, the paper's, the difference."""
        return [self.ours, Spread(self.paper.mean, self.paper.deviation, self.count), self.difference]

    def judgement(self) -> list[Value]:
        """Whether ours lies within one and within two of the paper's deviations."""
        if self.difference is None:
            return [None, None]
        words = ["yes" if self.within(reach) else "no" for reach in (1.0, 2.0)]
        return [f"{word} (sd 0)" if self.paper.deviation == 0 else word for word in words]


def our_measure(law: str, quantity: str) -> Measure:
    """What we set beside one of the paper's columns."""
    if quantity == "acc":
        return accuracy(law)
    return estimate("mc-ibp", law) if quantity == "mc_ibp" else bound(quantity, law, "paper-box")


def compared(rows: Sequence[PaperRow], runs: Sequence[FinishedRun], law: str, quantity: str) -> Comparison:
    """A quantity over the configurations behind some of the paper's rows.

    Args:
        rows: of the paper's table.
        runs: ours, of those rows.
        law: pog or fedavg.
        quantity: see `PaperRow`.
    """
    entry = rows[0].entries[law, quantity] if len(rows) == 1 else paper.pooled_column(rows, law, quantity)
    count = sum(paper.configurations(row, law) for row in rows)
    return Comparison(our_measure(law, quantity).over(runs), entry, count)


def quantities(law: str) -> list[str]:
    """The columns that both have; the paper transports for FedAvg only."""
    return [name for name in HEADINGS if name != "transported" or law == "fedavg"]


def beside_paper(runs: Sequence[FinishedRun]) -> list[Table]:
    """The paper's Table 2 row by row, a table for each law.

    Args:
        runs: of a grid; only those of the paper's protocol are used.
    """
    ours = [run for run in runs if paper.in_papers_table(run)]
    return [_beside(ours, law) for law in paper.LAWS if ours]


def _beside(runs: Sequence[FinishedRun], law: str) -> Table:
    names = quantities(law)
    columns = [*map(Column, ("Arch.", "Dataset", "Clients", "Heterogeneity", "Runs"))]
    for name in names:
        columns += _columns(name)
        if name in JUDGED:
            group = HEADINGS[name]
            columns += [Column(f"≤ {reach}", group=group, view=group) for reach in ("sd", "2 sd")]
    rows: list[tuple[Value, ...]] = []
    judged: dict[str, list[Comparison]] = {name: [] for name in JUDGED}
    for row in paper.table2():
        members = [run for run in runs if paper.row_of(run) is row]
        if not members:
            continue
        dataset = DATASET_NAMES[row.dataset]
        values: list[Value] = [row.architecture, dataset, row.clients, row.group, len(members)]
        for name in names:
            comparison = compared([row], members, law, name)
            values += comparison.entries()
            if name in JUDGED:
                values += comparison.judgement()
                judged[name].append(comparison)
        rows.append(tuple(values))
    caption = (
        "Our figures with the paper's events and protocol beside those of its Table 2, and ours minus the"
        " paper's. Columns ≤ sd and ≤ 2 sd say whether ours lies within one or two of the paper's own"
        f" deviations. A row of the paper averages three runs. {_verdict(judged)} {averaged(runs)}"
    )
    title = f"{RULE_NAMES[law]}: ours beside the paper's"
    name, study = f"beside-paper-{law}", "Ours beside the paper's"
    return Table(name, title, caption, columns, rows, study, RULE_NAMES[law])


def _verdict(judged: dict[str, list[Comparison]]) -> str:
    sentences = []
    for name, comparisons in judged.items():
        one, two = (sum(found.within(reach) for found in comparisons) for reach in (1.0, 2.0))
        zero = sum(found.paper.deviation == 0 for found in comparisons)
        sentences.append(
            f"{HEADINGS[name].removesuffix(' (%)')}: {one} of {len(comparisons)} rows within one, {two}"
            f" within two; the paper's deviation is 0.00 in {zero}, where only an equal figure counts."
        )
    return " ".join(sentences)


def aggregates(runs: Sequence[FinishedRun]) -> list[Table]:
    """The dataset–architecture aggregates that the paper's text speaks of.

    Args:
        runs: of a grid; only those of the paper's protocol are used.
    """
    ours = [run for run in runs if paper.in_papers_table(run)]
    rows: list[tuple[Value, ...]] = []
    for (dataset, architecture), law in ((pair, law) for pair in paper.pairs() for law in paper.LAWS):
        members = [run for run in ours if (run.dataset, run.architecture) == (dataset, architecture)]
        values: list[Value] = [architecture, DATASET_NAMES[dataset], RULE_NAMES[law], len(members)]
        for name in HEADINGS:
            known = name in quantities(law)
            of_pair = paper.rows_of(dataset, architecture)
            values += compared(of_pair, members, law, name).entries() if known else [None] * 3
        rows += [tuple(values)] if members else []
    if not rows:
        return []
    caption = (
        "Means over all configurations of both groups, ours with the paper's events; the paper's are pooled"
        f" from the rows of its Table 2, three configurations in each. {averaged(ours)}"
    )
    leading = (Column("Arch."), Column("Dataset"), Column("Law"), Column("Runs"))
    columns = (*leading, *(column for name in HEADINGS for column in _columns(name)))
    return [Table("aggregates", "Dataset–architecture aggregates", caption, columns, tuple(rows))]


def quoted_figures(runs: Sequence[FinishedRun]) -> list[Table]:
    """What the paper's text quotes, beside what its own table gives.

    Args:
        runs: of a grid; the table is shown where any of them is of the paper's.
    """
    if not any(paper.in_papers_table(run) for run in runs):
        return []
    found = quotes()
    caption = (
        "Aggregates quoted in the paper's text, and the same computed from its Table 2:"
        f" {sum(quote.agrees for quote in found)} of {len(found)} agree to the printed digits."
    )
    columns = (Column("Figure"), Column("Text"), Column("Table"), Column("Agree"))
    rows = tuple(
        (quote.what, quote.printed, quote.recomputed, "yes" if quote.agrees else "no") for quote in found
    )
    return [Table("quoted", "The paper's text and its table", caption, columns, rows)]


def _columns(quantity: str) -> list[Column]:
    group = HEADINGS[quantity]
    return [
        Column("ours", 2, group, "nearest" if quantity in {"acc", "mc_ibp"} else "down", view=group),
        Column("paper", group=group, view=group),
        Column("difference", group=group, view=group),
    ]
