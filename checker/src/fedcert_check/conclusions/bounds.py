"""What is known before anything is concluded: bounds of each property, and what the properties say."""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fedcert_check.validation import require

Probabilities = tuple[float, ...]


@runtime_checkable
class Robustness(Protocol):
    """What the properties say: the label wins by a margin on a whole ball around each input.

    There may be a box instead of a ball, and constraints of the maker's own instead of a label.
    """

    @property
    def labelled(self) -> bool:
        """Whether labels win; otherwise constraints of the maker's own are asked for."""

    @property
    def boxed(self) -> bool:
        """Whether regions are boxes of the maker's own, not balls around inputs."""

    @property
    def noun(self) -> str:
        """What is counted: "inputs", "boxes" or "properties"."""

    @property
    def chosen(self) -> str:
        """How the inputs were chosen: "first", "random", "correct" or "given"."""

    @property
    def norm(self) -> str:
        """In which the radius is measured: "linf" or "weighted-linf"; "box" for boxes."""

    @property
    def common_radius(self) -> float | None:
        """The radius of all balls; None where they differ."""

    @property
    def margin(self) -> float:
        """By which the label must win."""

    @property
    def domain(self) -> tuple[float, float] | None:
        """The smallest and largest value of an input coordinate, to which balls are cut; None for none."""

    def __len__(self) -> int:
        """The number of inputs."""

    def describe_ball(self, in_full: bool = False) -> str:
        """The ball or box of the radius that all share, in words; in full with all measurement errors."""

    def describe_choice(self) -> str:
        """Which inputs these are and how they were chosen, in words."""


@dataclass(frozen=True)
class Sampled:
    """A confidence bound: limits that hold for all inputs together at a stated confidence.

    Attributes:
        lower: of Pr(S_p), one for each input.
        upper: of Pr(S_p), one for each input.
        confidence: 1 − β, over the draws; the decimal number that the float is printed as.
        draws: the number of models that were drawn.
    """

    lower: Probabilities
    upper: Probabilities
    confidence: float
    draws: int

    def __post_init__(self) -> None:
        require(0 < self.confidence < 1, f"a confidence of {self.confidence}")
        require(self.draws > 0, f"{self.draws} draws")
        require_bounds(self.lower, self.upper)


@dataclass(frozen=True)
class Bounds:
    """What is proven about the deployed model: L_p ≤ Pr(S_p) ≤ U_p for each input p.

    S_p is the event that the drawn model lets the label of input p win by the margin on the whole ball.

    Attributes:
        subject: what the properties say.
        rule: the name of the rule that is deployed.
        lower: L_p, one for each input.
        upper: U_p, one for each input; None where there is none.
        at_margins: pairs of a margin δ and L_p(δ) ≤ Pr(the label of p wins by δ on the whole ball), from
            certificates for the same inputs, radius and rule; margins may be negative.
        classes: the number of classes; needed with `at_margins`.
        sampled: a confidence bound for the same inputs, radius and rule; None where there is none.
    """

    subject: Robustness
    rule: str
    lower: Probabilities
    upper: Probabilities | None = None
    at_margins: tuple[tuple[float, Probabilities], ...] = ()
    classes: int | None = None
    sampled: Sampled | None = None

    def __post_init__(self) -> None:
        require_bounds(self.lower, self.upper)
        require(math.isfinite(self.epsilon) and self.epsilon >= 0, f"a radius of {self.epsilon}")
        require(math.isfinite(self.subject.margin), f"a margin of {self.subject.margin}")
        for margin, lower in self.at_margins:
            require(math.isfinite(margin), f"a margin of {margin}")
            require_bounds(lower, None)
        others = [lower for _, lower in self.at_margins]
        others += [self.sampled.lower] if self.sampled else []
        require(
            all(len(values) == len(self.subject) for values in (self.lower, *others)),
            f"bounds of another number of properties than the {len(self.subject)} inputs",
        )
        several = self.classes is not None and self.classes >= 2
        require(not self.at_margins or several, f"{self.classes} classes: at least 2 are needed")

    @property
    def epsilon(self) -> float:
        """The radius of all balls; raises where they differ."""
        radius = self.subject.common_radius
        require(radius is not None, "the balls have different radii: nothing is concluded of them together")
        return float(radius or 0.0)


def require_bounds(lower: Probabilities, upper: Probabilities | None) -> None:
    """Raise unless these are bounds of probabilities, of at least one.

    Args:
        lower: of each probability.
        upper: of each probability, or None.
    """
    require(len(lower) > 0, "no bounds: at least one input is needed")
    for value in (*lower, *(upper or ())):
        require(0 <= value <= 1, f"a bound of a probability is {value}")  # not so for NaN
    if upper is not None:
        require(len(lower) == len(upper), f"{len(lower)} lower and {len(upper)} upper bounds")
        crossed = [p for p, (least, most) in enumerate(zip(lower, upper, strict=True)) if least > most]
        require(not crossed, f"the bounds of property {crossed[0] if crossed else ''} contradict each other")
