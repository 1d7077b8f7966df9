"""Properties: batches of (input region X, C, d) that ask C f_θ(x) + d ≥ 0 for all x in X."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from fedcert.errors import DataError, InvalidProperty, ShapeMismatch
from fedcert.model.network import Network
from fedcert.numerics.box import Box
from fedcert.numerics.convert import Numbers, as_double, as_whole, doubled
from fedcert.numerics.rounding import down, up


@dataclass(frozen=True)
class Properties:
    """P safety properties; θ is safe for property i when C_i f_θ(x) + d_i ≥ 0 for all x in X_i.

    Attributes:
        regions: X, one input box for each property, of shape (P, p).
        C: C_s, the linear constraints on the outputs.
        d: d_s, their offsets.

    Examples:
        >>> len(linf_robustness([[0.5, 0.5], [0.1, 0.9]], [0, 1], 0.1, classes=2))
        2
    """

    regions: Box
    C: Float64[Tensor, "*each P R K"]
    d: Float64[Tensor, "*each P R"]

    def __post_init__(self) -> None:
        doubled(self, "constraints C and d", "C", "d")
        flat_or_each = self.C.dim() == 3 or (self.C.dim() == 4 and self.C.shape[1] == 1)
        fits = self.regions.shape[:-1] == self.C.shape[:-2] and self.C.shape[:-1] == self.d.shape
        if not (flat_or_each and fits):
            raise ShapeMismatch(
                f"regions, C and d of shapes {tuple(self.regions.shape)}, {tuple(self.C.shape)}"
                f" and {tuple(self.d.shape)} do not describe the same properties"
            )
        if self.C.shape[-2] == 0:
            raise InvalidProperty("a property needs at least one constraint")
        if not (torch.isfinite(self.C).all() and torch.isfinite(self.d).all()):
            raise InvalidProperty("constraints C and d must be finite; found NaN or infinity")

    def __len__(self) -> int:
        return self.C.shape[-3]

    def each(self) -> "Properties":
        """The properties as P groups of one, so that a batch of P boxes is paired with them."""
        regions = Box(self.regions.lower.unsqueeze(1), self.regions.upper.unsqueeze(1))
        return Properties(regions, self.C.unsqueeze(1), self.d.unsqueeze(1))

    def __getitem__(self, index: object) -> "Properties":
        return Properties(self.regions[index], self.C[index], self.d[index])  # type: ignore[index]

    def to(self, device: torch.device | str) -> "Properties":
        """The same properties on another device."""
        return Properties(self.regions.to(device), self.C.to(device), self.d.to(device))


def linf_robustness(
    x: Numbers,
    label: Numbers,
    epsilon: float,
    margin: float = 0.0,
    classes: int = 10,
    domain: tuple[float, float] = (0.0, 1.0),
) -> Properties:
    """Robustness: f_c(x') − f_r(x') ≥ δ for all r ≠ c and all x' in the domain with ‖x' − x‖∞ ≤ ε.

    The region is rounded outward, so it holds every real x' of the ball, and then cut to the domain.

    Args:
        x: reference inputs, one a row, inside the domain; a tensor, an array or lists of numbers.
        label: c, the class of each input.
        epsilon: ε ≥ 0, the input radius.
        margin: δ, the logit margin.
        classes: K, the number of classes.
        domain: the smallest and largest value of an input coordinate.

    Examples:
        >>> linf_robustness([[0.5, 0.0]], [1], 0.25, classes=2).regions.lower.tolist()  # rounded outward
        [[0.24999999999999997, 0.0]]
    """
    low, high = domain
    x, label = as_double("inputs x", x), as_whole("labels", label)
    if x.dim() != 2 or label.shape != x.shape[:1]:
        raise ShapeMismatch(f"inputs of shape {tuple(x.shape)} and labels of shape {tuple(label.shape)}")
    if not (epsilon >= 0 and epsilon < float("inf")):
        raise InvalidProperty(f"epsilon must be a finite number ≥ 0, not {epsilon}")
    if not abs(margin) < float("inf"):
        raise InvalidProperty(f"margin must be a finite number, not {margin}")
    if not ((x >= low) & (x <= high)).all():
        raise InvalidProperty(f"inputs must lie in [{low}, {high}]: rescale them, or pass `domain`")
    if not ((label >= 0) & (label < classes)).all():
        raise InvalidProperty(f"labels must lie in 0 … {classes - 1}: check `classes`")
    region = Box(down(x - epsilon).clamp(min=low), up(x + epsilon).clamp(max=high))
    unit = torch.eye(classes, dtype=torch.float64, device=x.device)
    others = torch.stack([
        torch.cat([unit[:c], unit[c + 1 :]]) for c in range(classes)
    ])  # (K, K − 1, K): the unit vectors of all classes but one
    C = unit[label].unsqueeze(1) - others[label]
    return Properties(region, C, torch.full_like(C[..., 0], -margin))


def correctly_classified(
    network: Network,
    theta: Float[Tensor, "n_w"],
    x: Float[Tensor, "n p"],
    label: Int[Tensor, "n"],
    count: int,
) -> Int64[Tensor, "count"]:
    """Indices of the first `count` inputs that the network f_θ classifies as labelled."""
    correct = (network(theta, x).argmax(-1) == label).nonzero().squeeze(-1)
    if len(correct) < count:
        raise DataError(
            f"{count} properties asked for, but the posterior-mean model classifies only {len(correct)} of"
            f" {len(x)} test inputs correctly: ask for fewer properties or train for longer"
        )
    return correct[:count]
