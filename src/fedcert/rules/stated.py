"""Rules that deploy a Gaussian law of their own: draws come from it, not from the clients' laws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import ShapeMismatch
from fedcert.laws import BlockGaussian, DenseBlock, GaussianLaw
from fedcert.numerics.box import Box
from fedcert.rules.protocol import Coefficients, Header


@dataclass(frozen=True)
class StatedGaussian:
    """Θ_g ~ N(M, G Gᵀ) with *these* floating-point numbers M and G, which are part of the claim.

    The server computes them from the clients' laws, as a product of densities, and draws the model itself. So
    there are direct claims alone: it is no function of the clients' draws, and a call raises.

    Attributes:
        name: the rule's name in tables and claims; the checker holds it to the clients' laws.
        clients: n, the number of clients.
        loc: M.
        start: the first parameter that is random.
        factor: G, of the parameters from there on.
        settings: what the law was made with.
    """

    name: str
    clients: int
    loc: Float64[Tensor, "n_w"]
    start: int
    factor: Float64[Tensor, "m q"]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _ = self.law  # which raises if it is none

    @property
    def law(self) -> BlockGaussian:
        """N(M, G Gᵀ)."""
        return BlockGaussian(self.loc, (DenseBlock(self.start, self.factor),))

    @classmethod
    def from_description(cls, header: Header, coefficients: Coefficients) -> "StatedGaussian":
        """The rule that `describe` described."""
        return cls(
            header["name"],
            header["clients"],
            coefficients["loc"],
            header["start"],
            coefficients["factor"],
            header.get("settings", {}),
        )

    def describe(self) -> tuple[Header, Coefficients]:
        """What a file says of the rule: M and G."""
        header: dict[str, Any] = {
            "type": "gaussian", "name": self.name, "clients": self.clients, "start": self.start,
        }  # fmt: skip
        if self.settings:
            header["settings"] = dict(self.settings)
        return header, {"loc": self.loc, "factor": self.factor}

    def to(self, device: torch.device | str) -> "StatedGaussian":
        """The same rule on another device."""
        loc, factor = self.loc.to(device), self.factor.to(device)
        return StatedGaussian(self.name, self.clients, loc, self.start, factor, self.settings)

    def pushforward(self, laws: Sequence[GaussianLaw]) -> BlockGaussian:
        """N(M, G Gᵀ), whatever the clients' laws are.

        Args:
            laws: the clients' laws.
        """
        if len(laws) != self.clients or any(law.dimension != len(self.loc) for law in laws):
            raise ShapeMismatch(
                f"the rule {self.name} is for {self.clients} clients of {len(self.loc)} parameters"
            )
        return self.law

    def __call__(self, thetas: Sequence[Float64[Tensor, "*batch n_w"]]) -> NoReturn:
        """Raise: the deployed model is drawn from a law of its own."""
        raise ShapeMismatch(
            f"{self.name} of laws with dependent parameters deploys a draw from a law of its own: it is no"
            " function of the clients' draws"
        )

    def image(self, boxes: Sequence[Box]) -> NoReturn:
        """Raise, for the same reason."""
        self([box.lower for box in boxes])
