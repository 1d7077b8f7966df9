"""What is proven of a safety probability, as pages show it."""

from collections.abc import Mapping
from dataclasses import dataclass

from fedcert.app.report.words import claim_name
from fedcert.app.result import Bound
from fedcert.certificate import percent_down, percent_up


@dataclass(frozen=True)
class Bounds:
    """What is proven of a safety probability.

    Attributes:
        claim: kind, rule and events.
        lower: L.
        upper: U; None where none was proven.
        survival: the share of sampled networks that an attack does not break; None where none were drawn.
    """

    claim: str
    lower: float
    upper: float | None
    survival: float | None

    @classmethod
    def of(cls, row: Bound, survival: Mapping[str, float]) -> "Bounds":
        """The bounds of a claim; local ones speak of no deployed model, so that no attack was made on it.

        Args:
            row: claim, rule, events, lower and upper.
            survival: the share of sampled networks that an attack does not break, by rule.
        """
        attacked = None if row["claim"] == "local" else survival.get(row["rule"])
        return cls(claim_name(row), row["lower"], row["upper"], attacked)

    @property
    def text(self) -> str:
        """The bounds in per cent, rounded outward.

        >>> Bounds("direct", 0.99999, None, None).text, Bounds("direct", 0.5, 0.51234, None).text
        ('≥ 99.99 %', '50.00 – 51.24 %')
        """
        least = percent_down(self.lower)
        return (
            f"≥ {least}" if self.upper is None else f"{least.removesuffix(' %')} – {percent_up(self.upper)}"
        )
