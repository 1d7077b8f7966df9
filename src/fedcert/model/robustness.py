"""What properties mean in words: which inputs or boxes, how chosen, which radius, and what is asked."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

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

    Instead of a ball there may be a box {x': ℓ_j − ε ≤ x'_j ≤ u_j + ε for all j}, and instead of labels,
    constraints of the user's own, C f(x') + d ≥ 0.

    Attributes:
        inputs: the centre of each ball; ℓ of each box.
        labels: c, the class of each input; None where constraints of the user's own are asked for.
        radius: ε of each ball.
        margin: δ, by which the label must win.
        domain: the smallest and largest value of an input coordinate; balls are cut to it. Infinite for none.
        origin: where the inputs come from.
        weights: w ≥ 0, such as the measurement error of each value; None where all are 1 (the ℓ∞ norm).
        features: which measurement each coordinate is; None where that is not known.
        upper: u of each box; None for balls.
        constraints: C and d; None where labels win.
    """

    inputs: Float64[Tensor, "P p"]
    labels: Int64[Tensor, "P"] | None
    radius: Float64[Tensor, "P"]
    margin: float
    domain: tuple[float, float]
    origin: Origin = Origin()
    weights: Float64[Tensor, "P p"] | None = None
    features: tuple[Feature, ...] | None = None
    upper: Float64[Tensor, "P p"] | None = None
    constraints: tuple[Float64[Tensor, "P R K"], Float64[Tensor, "P R"]] | None = None

    @property
    def norm(self) -> Literal["linf", "weighted-linf", "box"]:
        """The norm of the balls; "box" for boxes."""
        if self.upper is not None:
            return "box"
        return "linf" if self.weights is None else "weighted-linf"

    @property
    def indices(self) -> Int64[Tensor, "P"]:
        """The position of each input in its data set; −1 where unknown."""
        known = self.origin.indices
        return torch.full_like(self.radius, -1, dtype=torch.int64) if known is None else known

    def __getitem__(self, index: object) -> "Robustness":
        return self._each(lambda own: own[index])  # type: ignore[index]

    def to(self, device: torch.device | str) -> "Robustness":
        """The same on another device.

        Args:
            device: such as "cuda".
        """
        return self._each(lambda own: own.to(device))

    def _each(self, change: Callable[[Tensor], Tensor]) -> "Robustness":
        """The same with every tensor changed."""
        named = {name: getattr(self, name) for name in ("inputs", "labels", "radius", "weights", "upper")}
        changed: dict[str, Any] = {name: change(own) for name, own in named.items() if own is not None}
        if self.constraints is not None:
            changed["constraints"] = tuple(map(change, self.constraints))
        if self.origin.indices is not None:
            changed["origin"] = replace(self.origin, indices=change(self.origin.indices))
        return replace(self, **changed)
