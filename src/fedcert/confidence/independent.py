"""Draws from laws of independent parameters: Gaussians, and mixtures of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.confidence.draws import CHARGE, MAX_DEVIATIONS, Draws, words_of_components
from fedcert.errors import InvalidLaw
from fedcert.laws import GaussianMixture, Law, diagonal_components

RELATIVE = 2.0**-50  # more than the roundings of μ + σ z, and of the radius itself, are worth
TINY = 2.0**-1000  # more than what underflow may lose


@dataclass(frozen=True, eq=False)
class IndependentClient:
    """A Gaussian with independent parameters, or a mixture of such, ready to be drawn from: μ + σ∘z.

    Attributes:
        loc: the means of the components, of shape (K, n_w).
        scale: their scales.
        first: the least word that chooses each component.
        last: the greatest word that does; a word between two components chooses none.
    """

    loc: Float64[Tensor, "K n_w"]
    scale: Float64[Tensor, "K n_w"]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @classmethod
    def of(cls, law: Law) -> "IndependentClient":
        """A Gaussian with independent parameters that is stated exactly, or a mixture of such.

        Args:
            law: the client's posterior.
        """
        components = diagonal_components(law)
        if any(part.loc_error is not None or part.scale_error for part in components):
            raise InvalidLaw("a law that is drawn from must be exact: this one carries a rounding error")
        first, last = words_of_components(weights_of(law))
        return cls(
            torch.stack([part.loc for part in components]),
            torch.stack([part.scale for part in components]),
            first,
            last,
        )

    def to(self, device: torch.device | str) -> "IndependentClient":
        """The same law on another device."""
        return IndependentClient(self.loc.to(device), self.scale.to(device), self.first, self.last)

    @property
    def normals(self) -> int:
        """One a parameter."""
        return self.loc.shape[-1]

    @property
    def reach(self) -> Float64[Tensor, "n_w"]:
        """A bound of the absolute value of each parameter that is computed."""
        return (self.loc.abs() + MAX_DEVIATIONS * self.scale).amax(0)

    @property
    def radius(self) -> Float64[Tensor, "n_w"]:
        """A bound of |θ − what is computed|, whatever the draw: the charge, and the roundings of μ + σ z."""
        charged = CHARGE * self.scale.amax(0) + RELATIVE * self.reach
        return charged * (1 + 2.0**-20) + TINY

    def thetas(self, draws: Draws) -> tuple[Float64[Tensor, "B n_w"], Bool[Tensor, "B"]]:
        """The parameters of some draws, each to within `radius`; and which of them are that close.

        Args:
            draws: what the words of this client's streams say.
        """
        z = torch.from_numpy(draws.normals).to(self.loc.device)
        chosen = [self._component(word) for word in draws.choices]
        known = torch.tensor([k is not None for k in chosen]) & torch.from_numpy(draws.near)
        if len(self.first) == 1:
            return torch.addcmul(self.loc[0], self.scale[0], z), known
        own = torch.tensor([k or 0 for k in chosen], device=self.loc.device)
        return torch.addcmul(self.loc[own], self.scale[own], z), known

    def _component(self, word: int) -> int | None:
        for k, (first, last) in enumerate(zip(self.first, self.last, strict=True)):
            if first <= word <= last:
                return k
        return None


def weights_of(law: Law) -> list[float]:
    """The weights of a law's components, not normalised."""
    if isinstance(law, GaussianMixture):
        return [float(weight) for weight in law.weights]
    if len(law.components) > 1:
        raise InvalidLaw(f"a {type(law).__name__} does not say how likely its components are")
    return [1.0]
