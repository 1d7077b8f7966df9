"""What an aggregation rule must offer."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, overload, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws import DiagonalGaussian, DiagonalLaw, GaussianLaw
from fedcert.numerics.box import Box

Header = Mapping[str, Any]
"""What the JSON of a certificate file says of a rule; its `type` says how the rest is read."""
Coefficients = Mapping[str, Tensor]
"""The tensors of a rule, by name."""


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

    def to(self, device: torch.device | str) -> "AggregationRule":
        """The same rule on another device."""
        ...

    def describe(self) -> tuple[Header, Coefficients]:
        """What a file says of the rule, from which `read_rule` makes it again.

        The header holds `type`, `name`, `clients` and whatever else of JSON the type needs.
        """
        ...


@runtime_checkable
class GaussianRule(AggregationRule, Protocol):
    """A rule that deploys a Gaussian law when the clients' laws are Gaussian: direct claims exist."""

    @overload
    def pushforward(self, laws: Sequence[DiagonalLaw]) -> DiagonalGaussian: ...
    @overload
    def pushforward(self, laws: Sequence[GaussianLaw]) -> GaussianLaw: ...
    def pushforward(self, laws: Sequence[GaussianLaw]) -> GaussianLaw:
        """The law of A(Θ_1, …, Θ_n) for independent Θ_i ~ q_i."""
        ...


@runtime_checkable
class LinearMap(GaussianRule, Protocol):
    """A rule that is v + Σ_i w_i Θ_i and shows its coefficients: projections are transported through it."""

    @property
    def weights(self) -> Float64[Tensor, "n n_w_or_1"]:
        """The weights w, of any sign."""
        ...

    @property
    def offset(self) -> Float64[Tensor, "n_w"] | None:
        """The offset v; None for 0."""
        ...
