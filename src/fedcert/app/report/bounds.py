"""Bounds of a safety probability, as pages show them."""

from collections.abc import Mapping
from dataclasses import dataclass

from fedcert.app.records import Bound, Row
from fedcert.app.report.words import claim_name
from fedcert_check.percent import percent_down, percent_up


@dataclass(frozen=True)
class Bounds:
    """The proven bounds of a safety probability.

    Attributes:
        claim: the claim's kind, rule and events.
        lower: the lower bound L.
        upper: the upper bound U; None if none was proven.
        survival: the share of sampled networks that an attack does not break; None if none were drawn.
        stated: the claim of result.json that says so, as `fedcert check` looks it up; empty for others.
    """

    claim: str
    lower: float
    upper: float | None
    survival: float | None
    stated: str = ""

    @classmethod
    def of(cls, row: Bound, survival: Mapping[str, float], stated: str = "") -> "Bounds":
        """The bounds of a claim; local claims concern no deployed model, so they have no attack survival.

        Args:
            row: the claim and its bounds: claim, rule, events, lower and upper.
            survival: the share of sampled networks that an attack does not break, by rule.
            stated: the claim of result.json that says so; empty for others.
        """
        attacked = None if row["claim"] == "local" else survival.get(row["rule"])
        return cls(claim_name(row), row["lower"], row["upper"], attacked, stated)

    @property
    def least(self) -> str:
        """L in per cent, rounded down, without the sign.

        >>> Bounds("direct", 0.99999, None, None).least
        '99.99'
        """
        return percent_down(self.lower).removesuffix(" %")

    @property
    def most(self) -> str:
        """U in per cent, rounded up, without the sign; 100 where none was proven."""
        return percent_up(1.0 if self.upper is None else self.upper).removesuffix(" %")

    @property
    def says_something(self) -> bool:
        """Whether a reader sees more than that a probability lies between 0 and 1.

        >>> Bounds("direct", 1e-9, None, None).says_something
        False
        """
        return (self.least, self.most) != ("0.00", "100.00")

    @property
    def strength(self) -> tuple[float, float, float]:
        """By which bounds of the same thing are compared: L as it is shown, then U, then all digits of L."""
        return float(self.least), -float(self.most), self.lower

    @property
    def text(self) -> str:
        """The bounds in per cent, rounded outward.

        >>> Bounds("direct", 0.99999, None, None).text, Bounds("direct", 0.5, 0.51234, None).text
        ('≥ 99.99 %', '50.00 – 51.24 %')
        """
        return f"≥ {self.least} %" if self.upper is None else f"{self.least} – {self.most} %"


def stated_name(row: Row) -> str:
    """What a page calls a claim of result.json, so that `fedcert check` finds it: kind, rule, events, radius.

    Args:
        row: of the summary.
    """
    return f"{row['claim']} {row['rule']} {row['events']} {row['epsilon']!r}"
