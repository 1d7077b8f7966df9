"""Properties: batches of (input region X, C, d) that ask C f_θ(x) + d ≥ 0 for all x in X."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from fedcert.errors import DataError, InvalidProperty, ShapeMismatch
from fedcert.model.features import Feature
from fedcert.model.network import Network
from fedcert.model.robustness import Origin, Robustness
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
        subject: what the properties mean in words, where that is known; certificates carry it.

    Examples:
        >>> len(linf_robustness([[0.5, 0.5], [0.1, 0.9]], [0, 1], 0.1, classes=2))
        2
    """

    regions: Box
    C: Float64[Tensor, "*each P R K"]
    d: Float64[Tensor, "*each P R"]
    subject: Robustness | None = None

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
        subject = None if self.subject is None else self.subject[index]
        return Properties(self.regions[index], self.C[index], self.d[index], subject)  # type: ignore[index]

    def to(self, device: torch.device | str) -> "Properties":
        """The same properties on another device."""
        subject = None if self.subject is None else self.subject.to(device)
        return Properties(self.regions.to(device), self.C.to(device), self.d.to(device), subject)


def linf_robustness(
    x: Numbers,
    label: Numbers,
    epsilon: float | Numbers,
    margin: float = 0.0,
    classes: int = 10,
    domain: tuple[float, float] = (0.0, 1.0),
    origin: Origin | None = None,
    weights: Numbers | None = None,
    features: Sequence[Feature] | None = None,
) -> Properties:
    """Robustness: f_c(x') − f_r(x') ≥ δ for all r ≠ c and all x' in the domain with ‖x' − x‖∞ ≤ ε.

    The region is rounded outward, so it holds every real x' of the ball, and then cut to the domain. With
    weights it is |x'_j − x_j| ≤ ε w_j for all j; a coordinate of weight 0 is fixed.

    Args:
        x: reference inputs, one a row, inside the domain; a tensor, an array or lists of numbers.
        label: c, the class of each input.
        epsilon: ε ≥ 0, the input radius, or one for each input.
        margin: δ, the logit margin.
        classes: K, the number of classes.
        domain: the smallest and largest value of an input coordinate; −inf and inf for no limits.
        origin: where the inputs come from and how they were chosen; given by the user where None.
        weights: w ≥ 0, one for each input and coordinate, such as measurement errors; 1 where None.
        features: which measurement each coordinate is, for the words of certificates; needs weights.

    Examples:
        >>> linf_robustness([[0.5, 0.0]], [1], 0.25, classes=2).regions.lower.tolist()  # rounded outward
        [[0.24999999999999997, 0.0]]
    """
    low, high = domain = limits(domain)
    if (low == -inf) != (high == inf):
        raise InvalidProperty(f"domain: [{low}, {high}]: give two finite limits, or none (−inf and inf)")
    if features is not None and weights is None:
        raise InvalidProperty("features are named for weights, such as measurement errors: pass `weights`")
    x, label = as_double("inputs x", x), as_whole("labels", label)
    if x.dim() != 2 or label.shape != x.shape[:1]:
        raise ShapeMismatch(f"inputs of shape {tuple(x.shape)} and labels of shape {tuple(label.shape)}")
    radius = as_double("epsilon", epsilon).to(x.device)
    if radius.dim() > 0 and radius.shape != label.shape:
        raise ShapeMismatch(
            f"epsilon: radii of shape {tuple(radius.shape)} for {len(label)} inputs: give one number, or one"
            " for each input; for several radii call once for each"
        )
    if not ((radius >= 0) & (radius < float("inf"))).all():
        raise InvalidProperty(f"epsilon must be a finite number ≥ 0, not {epsilon}")
    radius = radius.expand(len(label))
    if not abs(margin) < float("inf"):
        raise InvalidProperty(f"margin must be a finite number, not {margin}")
    if not ((x >= low) & (x <= high)).all():
        raise InvalidProperty(_outside(x, low, high))
    if classes < 2:
        raise InvalidProperty("one output: no classifier; use fedcert.certify with fedcert.on_boxes")
    wrong = label[(label < 0) | (label >= classes)]
    if len(wrong) > 0:
        found = wrong[0].item()
        raise InvalidProperty(
            f"labels must lie in 0 … {classes - 1}, the network has {classes} outputs; found {found}"
        )
    weights = None if weights is None else _weights(weights, features, x)
    region = _ball(x, radius.unsqueeze(-1), weights, domain)
    C, d = label_wins(label, classes, margin)
    subject = Robustness(
        x,
        label.long(),
        radius.contiguous(),
        margin,
        (low, high),
        origin or Origin(),
        weights,
        None if features is None else tuple(features),
    )
    return Properties(region, C, d, subject)


def _outside(x: Float64[Tensor, "P p"], low: float, high: float) -> str:
    """What is wrong with inputs of which some are outside of the domain, and what to do about it."""
    least, most = x.min().item(), x.max().item()
    if not (isfinite(least) and isfinite(most)):
        return f"inputs must be finite numbers in [{low}, {high}]; found NaN or infinity"
    return (
        f"inputs must lie in [{low}, {high}], found {least} to {most}: rescale them, or pass"
        f" domain=({min(low, least)}, {max(high, most)})"
    )


def limits(domain: tuple[float, float]) -> tuple[float, float]:
    """The smallest and the largest value of an input coordinate; anything but two numbers raises.

    Args:
        domain: as users give it.
    """
    try:
        low, high = map(float, domain)
    except (TypeError, ValueError) as error:
        raise InvalidProperty(
            f"domain: {domain!r}: give the smallest and the largest value, such as domain=(0, 1)"
        ) from error
    return low, high


def label_wins(
    label: Int64[Tensor, "P"], classes: int, margin: float
) -> tuple[Float64[Tensor, "P R K"], Float64[Tensor, "P R"]]:
    """C and d of f_c − f_r − δ ≥ 0 for all classes r ≠ c.

    Args:
        label: c of each property, 0 … K − 1.
        classes: K.
        margin: δ.
    """
    unit = torch.eye(classes, dtype=torch.float64, device=label.device)
    others = torch.stack([
        torch.cat([unit[:c], unit[c + 1 :]]) for c in range(classes)
    ])  # (K, K − 1, K): the unit vectors of all classes but one
    C = unit[label].unsqueeze(1) - others[label]
    return C, torch.full_like(C[..., 0], -margin)


def _weights(
    weights: Numbers, features: Sequence[Feature] | None, x: Float64[Tensor, "P p"]
) -> Float64[Tensor, "P p"]:
    found = as_double("weights", weights).to(x.device)
    if found.shape != x.shape or (features is not None and len(features) != x.shape[1]):
        raise ShapeMismatch(
            f"weights of shape {tuple(found.shape)} for inputs of shape {tuple(x.shape)}"
            + ("" if features is None else f" and {len(features)} features")
        )
    if not ((found >= 0) & (found < inf)).all():
        raise InvalidProperty("weights must be finite numbers ≥ 0")
    return found.contiguous()


def _ball(
    x: Float64[Tensor, "P p"],
    radius: Float64[Tensor, "P 1"],
    weights: Float64[Tensor, "P p"] | None,
    domain: tuple[float, float],
) -> Box:
    """The ball, its ends rounded outward; a fixed coordinate of a weighted ball is exact."""
    low, high = domain
    if weights is None:
        return Box(down(x - radius).clamp(min=low), up(x + radius).clamp(max=high))
    reach = up(radius * weights)
    fixed = (radius == 0) | (weights == 0)
    lower, upper = (torch.where(fixed, x, end) for end in (down(x - reach), up(x + reach)))
    if not (torch.isfinite(lower) & torch.isfinite(upper)).all():
        raise InvalidProperty("a weighted ball is not finite: its radius or a weight is too large")
    return Box(lower.clamp(min=low), upper.clamp(max=high))


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
