"""Measures of a run, in the units of the tables: % and seconds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

from fedcert.app.config import RunConfig
from fedcert.app.report.runs import FinishedRun
from fedcert.app.report.table import Column, Spread
from fedcert.app.report.words import distinct
from fedcert.families.registry import families as registered

MIN_DIVISOR = 1e-100  # division by less may overflow
SYMBOLS = {"local": "L^loc", "transported": "L^tr", "direct": "L^dir"}


@dataclass(frozen=True)
class Measure:
    """A column whose value in a row is a mean over runs.

    Attributes:
        column: the column with its heading.
        of: gives the value of one run; None if it is not known.
    """

    column: Column
    of: Callable[[FinishedRun], float | None]

    def under(self, group: str) -> "Measure":
        """The same measure under a shared heading."""
        return replace(self, column=replace(self.column, group=group))

    def shown_in(self, view: str) -> "Measure":
        """The same measure in a view of its own, which a page shows one at a time."""
        return replace(self, column=replace(self.column, view=view))

    def over(self, runs: Iterable[FinishedRun]) -> Spread | None:
        """Mean and sample standard deviation over runs."""
        return spread(value for run in runs if (value := self.of(run)) is not None)


def spread(values: Iterable[float]) -> Spread | None:
    """Mean and sample standard deviation; None without values.

    Args:
        values: the values of several runs.
    """
    known = list(values)
    if not known:
        return None
    return Spread(fmean(known), stdev(known) if len(known) > 1 else None, len(known))


def ratio(part: float, whole: float) -> float | None:
    """The quotient of two numbers ≥ 0; None if the divisor is below `MIN_DIVISOR`.

    Args:
        part: the dividend.
        whole: the divisor.

    >>> ratio(3.0, 4.0), ratio(3.0, 0.0), ratio(3.0, 5e-324)
    (0.75, None, None)
    """
    return part / whole if whole >= MIN_DIVISOR else None


def families(runs: Iterable[FinishedRun]) -> list[str]:
    """The families of events with claims: first those that a run has by default, then by strength."""
    found = {events for run in runs for _, _, events in run.claims}
    known = [*RunConfig().events, *(family.name for family in reversed(registered()))]
    return [name for name in distinct([*known, *sorted(found)]) if name in found]


def accuracy(rule: str | None = None) -> Measure:
    """Accuracy of the posterior-mean model.

    Args:
        rule: the rule that makes the model; None for the deployed rule.
    """
    return Measure(
        Column("Acc. (%)"), lambda run: _percent(run.summary["accuracy_by_rule"].get(_rule(rule, run)))
    )


def bound(claim: str, rule: str | None, events: str) -> Measure:
    """A proven lower bound; local claims are about the clients, whatever rule is deployed.

    Args:
        claim: the kind of claim.
        rule: the rule that the claim is about; None for the deployed rule.
        events: the family of events.
    """

    def of(run: FinishedRun) -> float | None:
        row = run.claims.get((claim, _rule(None if claim == "local" else rule, run), events))
        return None if row is None else _percent(row["lower"])

    return Measure(Column(f"{SYMBOLS[claim]} (%)", rounding="down"), of)


def upper(claim: str, rule: str | None, events: str) -> Measure:
    """A proven upper bound; see `bound`."""

    def of(run: FinishedRun) -> float | None:
        row = run.claims.get((claim, _rule(rule, run), events))
        return None if row is None else _percent(row["upper"])

    return Measure(Column(f"{SYMBOLS[claim].replace('L', 'U')} (%)", rounding="up"), of)


def estimate(name: Literal["mc-ibp", "attack-survival"], rule: str | None) -> Measure:
    """A Monte Carlo mean.

    Args:
        name: the name of the estimate.
        rule: the rule that the estimate is about; None for the deployed rule.
    """
    heading = {"mc-ibp": "MC–IBP (%)", "attack-survival": "Survival (%)"}[name]
    return Measure(Column(heading), lambda run: _percent(run.estimate(name).get(_rule(rule, run))))


def stage(heading: str, *names: str) -> Measure:
    """The seconds that some stages of a run took together."""

    def of(run: FinishedRun) -> float | None:
        timings = run.summary["timings"]
        known = [timings[name] for name in names if name in timings]
        return sum(known) if known else None

    return Measure(Column(heading), of)


def proving(events: str, *rules: str) -> Measure:
    """The seconds that the claims with these events took, for all rules unless some are named."""

    def of(run: FinishedRun) -> float | None:
        known = [
            row["seconds"]
            for (claim, rule, family), row in run.claims.items()
            if family == events and (not rules or rule in rules or claim == "local")
        ]
        return sum(known) if known else None

    return Measure(Column(f"{events} (s)"), of)


def _rule(rule: str | None, run: FinishedRun) -> str:
    return str(run.config["rule"]) if rule is None else rule


def _percent(probability: float | None) -> float | None:
    return None if probability is None else 100 * probability
