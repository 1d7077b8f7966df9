"""What a result claims: a `Certificate` is a proof, an `Estimate` is not."""

from dataclasses import dataclass, field, replace
from typing import Literal

from jaxtyping import Float64, Int64
from scipy.special import betaincinv
from torch import Tensor

from fedcert.errors import ShapeMismatch
from fedcert.numerics.enclosure import Enclosure
from fedcert.witness import Witness
from fedcert_check.percent import percent_down as percent_down
from fedcert_check.percent import percent_up as percent_up

Kind = Literal["local", "transported", "direct"]


@dataclass(frozen=True)
class Claim:
    """What is bounded, and how.

    Attributes:
        kind: "direct" and "transported" speak of the deployed model; "local" of the clients' own
            models, averaged, and so of no deployment at all.
        rule: the aggregation rule that deploys the model.
        events: the family of events whose probability was added up.

    Examples:
        >>> Claim("direct", "fedavg", "projected")
        Claim(kind='direct', rule='fedavg', events='projected')
    """

    kind: Kind
    rule: str
    events: str


@dataclass(frozen=True)
class Certificate:
    """A proven lower bound of the safety probability, for each property.

    Attributes:
        claim: what is bounded.
        lower: L ≤ Pr(safe), for each property.
        upper: U ≥ Pr(safe), where an upper bound was proven.
        witness: what `fedcert check` needs to prove the bounds again; None where there is none.

    Examples:
        >>> import torch
        >>> bounds = torch.tensor([0.5, 0.75], dtype=torch.float64)
        >>> print(Certificate(Claim("direct", "fedavg", "projected"), bounds))
        direct (fedavg, projected): at least 62.49 %, mean over 2 properties
    """

    claim: Claim
    lower: Float64[Tensor, "P"]
    upper: Float64[Tensor, "P"] | None = None
    witness: Witness | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(self.lower) == 0:
            raise ShapeMismatch(f"{self.claim}: a certificate needs at least one property")
        if not ((self.lower >= 0) & (self.lower <= 1)).all():
            raise ArithmeticError(f"{self.claim}: a lower bound outside [0, 1]")
        if self.upper is not None and not ((self.upper >= self.lower) & (self.upper <= 1)).all():
            raise ArithmeticError(f"{self.claim}: an upper bound below the lower one or above 1")

    def for_rule(self, rule: str) -> "Certificate":
        """The same bounds, of another rule that deploys the same law."""
        return replace(self, claim=replace(self.claim, rule=rule))

    @property
    def mean_upper(self) -> float | None:
        """An upper bound of the mean safety probability, where one was proven."""
        return (
            None if self.upper is None else Enclosure.exactly(self.upper).mean().clamp(0.0, 1.0).upper.item()
        )

    @property
    def mean_lower(self) -> float:
        """A lower bound of the mean safety probability over the properties."""
        return Enclosure.exactly(self.lower).mean().clamp(0.0, 1.0).lower.item()

    def __str__(self) -> str:
        bound = f"at least {percent_down(self.mean_lower)}"
        if self.mean_upper is not None:
            bound += f" and at most {percent_up(self.mean_upper)}"
        return (
            f"{self.claim.kind} ({self.claim.rule}, {self.claim.events}): {bound},"
            f" mean over {len(self.lower)} properties"
        )


@dataclass(frozen=True)
class Estimate:
    """A Monte Carlo frequency, for each property; a diagnostic, never a bound.

    Attributes:
        name: what was sampled.
        rule: the aggregation rule whose deployed law was sampled.
        successes: how many of the samples were accepted, for each property.
        samples: how many networks were sampled; the same ones serve all properties.

    Examples:
        >>> import torch
        >>> Estimate("mc-ibp", "fedavg", torch.tensor([90, 100]), samples=100).value
        0.95
    """

    name: Literal["mc-ibp", "aggregated-sampling", "attack-survival"]
    rule: str
    successes: Int64[Tensor, "P"]
    samples: int

    def __post_init__(self) -> None:
        if not ((self.successes >= 0) & (self.successes <= self.samples)).all():
            raise ShapeMismatch(f"{self.name}: successes outside 0 … {self.samples}")

    def for_rule(self, rule: str) -> "Estimate":
        """The same frequencies, of another rule that deploys the same law."""
        return replace(self, rule=rule)

    @property
    def value(self) -> float:
        """The mean acceptance rate over the properties."""
        return self.successes.double().mean().item() / self.samples

    def confidence_interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for the mean acceptance probability over the properties.

        Each property's exact Clopper–Pearson interval holds at confidence 1 − (1 − confidence)/P, so
        all P hold together at the given confidence (the samples are shared, hence dependent), and then
        so does their mean.
        """
        limits = [
            clopper_pearson(int(k), self.samples, 1 - (1 - confidence) / len(self.successes))
            for k in self.successes
        ]
        return (
            sum(low for low, _ in limits) / len(limits),
            sum(high for _, high in limits) / len(limits),
        )


def clopper_pearson(successes: int, samples: int, confidence: float) -> tuple[float, float]:
    """The exact two-sided confidence interval of a binomial probability.

    >>> low, high = clopper_pearson(10, 10, 0.95)
    >>> round(low, 4), high
    (0.6915, 1.0)
    """
    alpha = (1 - confidence) / 2
    failures = samples - successes
    low = betaincinv(successes, failures + 1, alpha) if successes else 0.0
    high = betaincinv(successes + 1, failures, 1 - alpha) if failures else 1.0
    return float(low), float(high)
