"""What a confidence bound claims: neither a proof nor an estimate."""

from dataclasses import dataclass

from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.certificate import percent_down, percent_up
from fedcert.errors import ShapeMismatch
from fedcert.numerics.enclosure import Enclosure
from fedcert_check.confidence.level import allowed, confidence_of, confidence_words


@dataclass(frozen=True)
class ConfidenceBound:
    """Bounds of the safety probability that hold for all properties together with probability 1 − β.

    The probability is over the draws. It is not a certificate, which holds without exception, and not an
    estimate, which bounds nothing.

    Attributes:
        rule: the aggregation rule that deploys the model.
        lower: L ≤ Pr(safe), for each property.
        upper: U ≥ Pr(safe), for each property.
        proven: how many of the drawn networks are proven safe, for each property.
        broken: how many are broken by a concrete input, for each property.
        draws: N, the number of drawn networks; the same ones serve all properties.
        beta: β, the probability with which any of the bounds may fail.
        seed: the digest of what is claimed, which the draws were made from.

    Examples:
        >>> import torch
        >>> counts, bounds = torch.tensor([90, 80]), torch.tensor([[0.75, 0.75], [1.0, 1.0]]).double()
        >>> print(ConfidenceBound("median", *bounds, counts, counts - 80, 100, 0.05, "ab" * 32))
        median: at least 74.99 % and at most 100.00 % at 95 % confidence, mean over 2 properties, 100 draws
    """

    rule: str
    lower: Float64[Tensor, "P"]
    upper: Float64[Tensor, "P"]
    proven: Int64[Tensor, "P"]
    broken: Int64[Tensor, "P"]
    draws: int
    beta: float
    seed: str

    def __post_init__(self) -> None:
        if not len(self.lower) == len(self.upper) == len(self.proven) == len(self.broken) > 0:
            raise ShapeMismatch(f"{self.rule}: a confidence bound needs bounds and counts for each property")
        if not ((self.lower >= 0) & (self.lower <= self.upper) & (self.upper <= 1)).all():
            raise ArithmeticError(f"{self.rule}: bounds that are not 0 ≤ lower ≤ upper ≤ 1")
        if not ((self.proven >= 0) & (self.broken >= 0) & (self.proven + self.broken <= self.draws)).all():
            raise ArithmeticError(f"{self.rule}: counts that do not fit {self.draws} draws")

    @property
    def confidence(self) -> float:
        """1 − β, rounded down."""
        return confidence_of(self.beta)

    @property
    def mean_lower(self) -> float:
        """A lower bound of the mean safety probability over the properties, at this confidence."""
        return Enclosure.exactly(self.lower).mean().clamp(0.0, 1.0).lower.item()

    @property
    def mean_upper(self) -> float:
        """An upper bound of the mean safety probability over the properties, at this confidence."""
        return Enclosure.exactly(self.upper).mean().clamp(0.0, 1.0).upper.item()

    @property
    def undecided(self) -> float:
        """The share of draws, averaged over the properties, that are neither proven nor broken."""
        known = (self.proven + self.broken).double().mean().item()
        return 1 - known / self.draws

    def __str__(self) -> str:
        return (
            f"{self.rule}: at least {percent_down(self.mean_lower)} and at most"
            f" {percent_up(self.mean_upper)} at {confidence_words(1 - allowed(self.beta))} confidence,"
            f" mean over {len(self.lower)} properties, {self.draws} draws"
        )
