"""What is measured about a cell, in the units of the tables: %, s."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

from fedcert.app.report.cells import Cell
from fedcert.app.report.table import Column, Spread

EVENTS = ("paper-box", "box", "projected")
LAW_NAMES = {"pog": "PoG", "fedavg": "FedAvg"}
LEAST = 1e-100  # quotients by less may overflow
SYMBOLS = {"local": "L^loc", "transported": "L^tr", "direct": "L^dir"}


@dataclass(frozen=True)
class Measure:
    """A column whose value in a row is a mean over cells.

    Attributes:
        column: its heading.
        of: the value of one cell; None where it is not known.
    """

    column: Column
    of: Callable[[Cell], float | None]

    def under(self, group: str) -> "Measure":
        """The same measure under a shared heading."""
        return replace(self, column=replace(self.column, group=group))

    def over(self, cells: Iterable[Cell]) -> Spread | None:
        """Mean and sample standard deviation over cells."""
        return spread(value for cell in cells if (value := self.of(cell)) is not None)


def spread(values: Iterable[float]) -> Spread | None:
    """Mean and sample standard deviation; None without values.

    Args:
        values: of several cells.
    """
    known = list(values)
    if not known:
        return None
    return Spread(fmean(known), stdev(known) if len(known) > 1 else None, len(known))


def ratio(part: float, whole: float) -> float | None:
    """The quotient of two numbers ≥ 0; None where the whole is nothing, or next to nothing.

    Args:
        part: the dividend.
        whole: the divisor.

    >>> ratio(3.0, 4.0), ratio(3.0, 0.0), ratio(3.0, 5e-324)
    (0.75, None, None)
    """
    return part / whole if whole >= LEAST else None


def accuracy(rule: str) -> Measure:
    """Accuracy of the posterior-mean model."""
    return Measure(Column("Acc. (%)"), lambda cell: _percent(cell.accuracy.get(rule)))


def bound(claim: str, rule: str, events: str) -> Measure:
    """A proven lower bound; local claims are about the clients, whatever rule is deployed."""

    def of(cell: Cell) -> float | None:
        about = str(cell.config["rule"]) if claim == "local" else rule
        return _percent(cell.lower.get((claim, about, events)))

    return Measure(Column(f"{SYMBOLS[claim]} (%)", rounding="down"), of)


def upper(claim: str, rule: str, events: str) -> Measure:
    """A proven upper bound."""
    name = SYMBOLS[claim].replace("L", "U")
    return Measure(
        Column(f"{name} (%)", rounding="up"), lambda cell: _percent(cell.upper.get((claim, rule, events)))
    )


def estimate(name: Literal["mc-ibp", "attack-survival"], rule: str) -> Measure:
    """A Monte Carlo mean."""
    heading = {"mc-ibp": "MC–IBP (%)", "attack-survival": "Survival (%)"}[name]
    return Measure(Column(heading), lambda cell: _percent(cell.estimates.get((name, rule))))


def retention(events: str, rule: str = "fedavg") -> Measure:
    """100 L^tr / L^dir of each cell in which something was certified directly."""
    transported, direct = bound("transported", rule, events), bound("direct", rule, events)

    def of(cell: Cell) -> float | None:
        part, whole = transported.of(cell), direct.of(cell)
        return None if part is None or whole is None else ratio(100 * part, whole)

    return Measure(Column("L^tr / L^dir (%)"), of)


def stage(heading: str, *names: str) -> Measure:
    """Seconds of some stages of the run."""

    def of(cell: Cell) -> float | None:
        known = [cell.timings[name] for name in names if name in cell.timings]
        return sum(known) if known else None

    return Measure(Column(heading), of)


def proving(events: str, *rules: str) -> Measure:
    """Seconds that the claims with these events took; all rules unless some are named."""

    def of(cell: Cell) -> float | None:
        known = [
            seconds
            for (claim, rule, family), seconds in cell.seconds.items()
            if family == events and (not rules or rule in rules or claim == "local")
        ]
        return sum(known) if known else None

    return Measure(Column(f"{events} (s)"), of)


def law_seconds(rule: str, events: str) -> Measure:
    """Seconds for a law: training, properties, the clients' cells where the events need them, its claims."""
    claims = proving(events, rule)
    before = stage("", "training", "properties", *(["messages"] if events == "paper-box" else []))

    def of(cell: Cell) -> float | None:
        own = claims.of(cell)
        return None if own is None else own + (before.of(cell) or 0.0)

    return Measure(Column("Time (s)"), of)


def _percent(probability: float | None) -> float | None:
    return None if probability is None else 100 * probability
