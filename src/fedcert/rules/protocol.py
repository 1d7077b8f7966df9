"""What an aggregation rule must offer."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from jaxtyping import Float64
from torch import Tensor

from fedcert.laws import DiagonalGaussian, DiagonalLaw
from fedcert.numerics.box import Box


@runtime_checkable
class AggregationRule(Protocol):
    """A deployed map Θ_g = A(Θ_1, …, Θ_n).

    `image` must contain A(Π H_i); a rule whose image is larger than that set, rounding apart, says so
    in its documentation.
    """

    @property
    def name(self) -> str:
        """The rule's name in tables and claims."""
        ...

    @property
    def clients(self) -> int:
        """n, the number of clients."""
        ...

    def __call__(self, thetas: Sequence[Float64[Tensor, "*batch n_w"]]) -> Tensor:
        """A(θ_1, …, θ_n), in floating point."""
        ...

    def image(self, boxes: Sequence[Box]) -> Box:
        """A box that contains A(H_1 × … × H_n)."""
        ...


@runtime_checkable
class GaussianRule(AggregationRule, Protocol):
    """A rule that deploys a Gaussian law when the clients' laws are Gaussian: direct claims exist."""

    def pushforward(self, laws: Sequence[DiagonalLaw]) -> DiagonalGaussian:
        """The law of A(Θ_1, …, Θ_n) for independent Θ_i ~ q_i."""
        ...
