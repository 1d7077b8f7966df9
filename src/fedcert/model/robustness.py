"""What robustness properties mean in words: which inputs, how they were chosen, the norm and the radius."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.model.features import Feature

Chosen = Literal["first", "random", "correct", "given"]


@dataclass(frozen=True)
class Origin:
    """Where inputs come from.

    Attributes:
        source: the name of the data set.
        chosen: how they were chosen: the first ones as they come, at random, those that the mean model
            classifies correctly, or given by the user.
        available: the number of inputs that they were chosen from; None where unknown.
        seed: of a random choice; None where there was none.
        indices: the position of each input in the data set; None where unknown.

    Examples:
        >>> Origin("mnist", "first", available=10_000).chosen
        'first'
    """

    source: str = "own-inputs"
    chosen: Chosen = "given"
    available: int | None = None
    seed: int | None = None
    indices: Int64[Tensor, "P"] | None = None


@dataclass(frozen=True)
class Robustness:
    """The label of each input wins on a whole ball around it: {x': |x'_j − x_j| ≤ ε w_j for all j}.

    Attributes:
        inputs: the centre of each ball.
        labels: c, the class of each input.
        radius: ε of each ball.
        margin: δ, by which the label must win.
        domain: the smallest and largest value of an input coordinate; balls are cut to it. Infinite for none.
        origin: where the inputs come from.
        weights: w ≥ 0, such as the measurement error of each value; None where all are 1 (the ℓ∞ norm).
        features: which measurement each coordinate is; None where that is not known.
    """

    inputs: Float64[Tensor, "P p"]
    labels: Int64[Tensor, "P"]
    radius: Float64[Tensor, "P"]
    margin: float
    domain: tuple[float, float]
    origin: Origin = Origin()
    weights: Float64[Tensor, "P p"] | None = None
    features: tuple[Feature, ...] | None = None

    @property
    def norm(self) -> Literal["linf", "weighted-linf"]:
        """The norm of the balls."""
        return "linf" if self.weights is None else "weighted-linf"

    @property
    def indices(self) -> Int64[Tensor, "P"]:
        """The position of each input in its data set; −1 where unknown."""
        known = self.origin.indices
        return torch.full_like(self.labels, -1) if known is None else known

    def __getitem__(self, index: object) -> "Robustness":
        origin = self.origin
        if origin.indices is not None:
            origin = replace(origin, indices=origin.indices[index])  # type: ignore[index]
        inputs, labels, radius = (own[index] for own in (self.inputs, self.labels, self.radius))  # type: ignore[index]
        weights = None if self.weights is None else self.weights[index]  # type: ignore[index]
        return replace(self, inputs=inputs, labels=labels, radius=radius, origin=origin, weights=weights)

    def to(self, device: torch.device | str) -> "Robustness":
        """The same on another device.

        Args:
            device: such as "cuda".
        """
        origin = self.origin
        if origin.indices is not None:
            origin = replace(origin, indices=origin.indices.to(device))
        moved = {name: getattr(self, name).to(device) for name in ("inputs", "labels", "radius")}
        weights = None if self.weights is None else self.weights.to(device)
        return replace(self, origin=origin, weights=weights, **moved)
