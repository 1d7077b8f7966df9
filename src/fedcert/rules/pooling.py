"""Linear pooling: one client's own model is deployed, chosen at random."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.errors import InvalidWeights, ShapeMismatch
from fedcert.numerics.box import Box
from fedcert.numerics.convert import doubled
from fedcert.numerics.enclosure import Enclosure
from fedcert.rules.protocol import Coefficients, Header

LEAST, MOST = 2.0**-100, 2.0**100  # of a weight that is not 0: sums and quotients neither over- nor underflow


@dataclass(frozen=True)
class Pooling:
    """Θ_g = Θ_I: client i's own draw, with probability w_i / Σ_j w_j, independently of all draws.

    The deployed law is the mixture Σ_i w_i q_i, so Pr(safe) = Σ_i w_i Pr(Θ_i is safe). It is no function of
    the clients' parameters: `image` holds whatever may be deployed, and a call raises.

    Attributes:
        weights: w ≥ 0, not normalised, of shape (n, 1).
        name: the rule's name in tables and claims.

    Examples:
        >>> rule = Pooling(torch.tensor([[1.0], [3.0]]).double())
        >>> rule.shares.lower.tolist()[1] <= 0.75 <= rule.shares.upper.tolist()[1]
        True
    """

    weights: Float64[Tensor, "n 1"]
    name: str = "pooling"

    def __post_init__(self) -> None:
        doubled(self, "the weights of pooling", "weights")
        if self.weights.dim() != 2 or self.weights.shape[1] != 1:
            raise InvalidWeights(f"weights of shape {tuple(self.weights.shape)}, not (clients, 1)")
        usable = (self.weights == 0) | ((self.weights >= LEAST) & (self.weights <= MOST))
        if not usable.all() or not (self.weights > 0).any():
            raise InvalidWeights(
                f"the weights of pooling must be 0 or between {LEAST} and {MOST}, and not all 0; found"
                f" {self.weights[:, 0].tolist()[:8]}"
            )
        if self.name != "pooling":
            raise InvalidWeights(f"pooling is always named so, not {self.name!r}")

    @property
    def clients(self) -> int:
        """n, the number of clients."""
        return len(self.weights)

    @property
    def shares(self) -> Enclosure:
        """The probabilities w_i / Σ_j w_j."""
        weights = Enclosure.exactly(self.weights[:, 0])
        return (weights / weights.sum()).clamp(0.0, 1.0)

    def choose(self, count: int, generator: torch.Generator) -> Int64[Tensor, "count"]:
        """The clients whose models are deployed, in so many draws.

        Args:
            count: number of draws.
            generator: the source of randomness.
        """
        share = self.weights[:, 0].to(generator.device)
        return torch.multinomial(share / share.max(), max(count, 1), replacement=True, generator=generator)[
            :count
        ]

    @classmethod
    def from_description(cls, header: Header, coefficients: Coefficients) -> "Pooling":
        """The rule that `describe` described."""
        return cls(coefficients["weights"], header["name"])

    def describe(self) -> tuple[Header, Coefficients]:
        """What a file says of the rule."""
        header = {"type": "pooling", "name": self.name, "clients": self.clients}
        return header, {"weights": self.weights}

    def to(self, device: torch.device | str) -> "Pooling":
        """The same rule on another device."""
        return Pooling(self.weights.to(device), self.name)

    def __call__(self, thetas: Sequence[Float64[Tensor, "*batch n_w"]]) -> Tensor:
        """Raise: which client's parameters are deployed is decided by chance (`choose`)."""
        raise ShapeMismatch(
            "pooling deploys one client's model at random: it is no function of all clients' parameters"
        )

    def image(self, boxes: Sequence[Box]) -> Box:
        """The hull of all boxes: it contains whatever is deployed, and more."""
        if len(boxes) != self.clients:
            raise ShapeMismatch(f"a rule for {self.clients} clients was given {len(boxes)}")
        if len({box.lower.shape for box in boxes}) > 1:
            raise ShapeMismatch(
                "clients with parameters of different shapes: all must train the same network"
            )
        lower, upper = (torch.stack([getattr(box, end) for box in boxes]) for end in ("lower", "upper"))
        return Box(lower.amin(0), upper.amax(0))
