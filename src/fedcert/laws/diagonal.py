"""The diagonal Gaussian, a mean-field posterior."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.laws.affine import RandomAffine
from fedcert.laws.conv_affine import ConvAffine
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.laws.places import Place, parameter_places
from fedcert.model.layers import AvgPool2d, Conv2d
from fedcert.model.network import Network
from fedcert.numerics.box import Box
from fedcert.numerics.convert import doubled
from fedcert.numerics.gaussian import log_mass_lower, log_mass_upper
from fedcert.numerics.rounding import down, require_float64, rounding_error, sum_down, sum_up, up

SMALLEST, LARGEST = 1e-100, 1e100  # of a scale above 0: squares and quotients neither over- nor underflow


@dataclass(frozen=True)
class DiagonalGaussian:
    """N(μ, diag σ²), the mean-field posterior of a client or of the deployed model.

    A parameter with σ = 0 is *fixed*: it is μ with probability 1. A mass counts it only if μ lies strictly
    inside the box, so that boxes that touch never count it twice.

    A law that was itself computed carries what rounding may have done to it: the exact law has a mean
    within `loc_error` of `loc` and a scale within a factor 1 ± `scale_error` of `scale`, coordinate by
    coordinate, and the masses hold for every such law.

    Attributes:
        loc: μ, finite.
        scale: σ, 0 or from `SMALLEST` to `LARGEST`.
        loc_error: bound of |μ* − μ| for the exact mean μ*; None where μ is exact.
        scale_error: bound of |σ*/σ − 1| for the exact scale σ*, at most ½.

    Examples:
        >>> law = DiagonalGaussian(torch.zeros(3).double(), torch.ones(3).double())
        >>> law.dimension, law.log_mass(Box.around(law.loc, 40.0)).item() > -1e-12
        (3, True)
    """

    kind: ClassVar[str] = "diagonal-gaussian"
    fields: ClassVar[Mapping[str, tuple[str, ...]]] = {"loc": ("n_w",), "scale": ("n_w",)}

    loc: Float64[Tensor, "n_w"]
    scale: Float64[Tensor, "n_w"]
    loc_error: Float64[Tensor, "n_w"] | None = None
    scale_error: float = 0.0

    def __post_init__(self) -> None:
        doubled(self, "a law's mean and scale", "loc", "scale")
        require_float64("the error of a law's mean", self.loc_error)
        shapes = {tuple(t.shape) for t in (self.loc, self.scale, self.loc_error) if t is not None}
        if len(shapes) > 1 or self.loc.dim() != 1:
            raise InvalidLaw(f"mean and scale must be vectors of one length, not of shapes {shapes}")
        if not (self.loc.abs() <= LARGEST).all():
            raise InvalidLaw("the mean must be finite; found NaN, infinity or a value beyond 1e100")
        if not 0 <= self.scale_error <= 0.5:
            raise InvalidLaw(f"the error of a scale must lie in [0, 0.5], not {self.scale_error}")
        allowed = ((self.scale >= SMALLEST) & (self.scale <= LARGEST)) | (self.scale == 0)
        if not allowed.all():
            raise InvalidLaw(
                f"the scale must be 0 or lie in [{SMALLEST}, {LARGEST}]; found"
                f" {self.scale[~allowed][0].item()}"
            )

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        return len(self.loc)

    @property
    def components(self) -> tuple["DiagonalGaussian", ...]:
        """The law itself, its only component."""
        return (self,)

    def tensors(self) -> Mapping[str, Tensor]:
        """μ and σ, if they are exact."""
        if self.loc_error is not None or self.scale_error:
            raise InvalidLaw("a client states its law exactly")
        return {"loc": self.loc, "scale": self.scale}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], naming: Callable[[str], AbstractContextManager[None]]
    ) -> "DiagonalGaussian":
        """The law that a file states; what is wrong is said of its field.

        Args:
            tensors: by field.
            naming: errors inside `naming(field)` name the field.
        """
        with naming("loc"):
            cls(tensors["loc"], torch.ones_like(tensors["loc"]))
        with naming("scale"):
            return cls(tensors["loc"], tensors["scale"])

    def with_scale(self, scale: float) -> "DiagonalGaussian":
        """The law with the same mean and one scale for all parameters."""
        return DiagonalGaussian(self.loc, torch.full_like(self.loc, scale))

    def to(self, device: torch.device | str) -> "DiagonalGaussian":
        """The same law on another device."""
        error = None if self.loc_error is None else self.loc_error.to(device)
        return DiagonalGaussian(self.loc.to(device), self.scale.to(device), error, self.scale_error)

    def central_box(self, radius: Float64[Tensor, "*batch n_w_or_1"]) -> Box:
        """A box that contains [μ* − r σ*, μ* + r σ*] for every law within the stated errors.

        Args:
            radius: r ≥ 0, for each parameter or one for all.
        """
        scale = up(self.scale * (1 + 2 * self.scale_error)) if self.scale_error else self.scale
        half = up(radius * scale)
        if self.loc_error is not None:
            half = up(half + self.loc_error)
        return Box(down(self.loc - half), up(self.loc + half))

    def central_log_mass(self, radius: Float64[Tensor, "*batch n_w_or_1"]) -> Float64[Tensor, "*batch"]:
        """A lower bound of log q([μ* − r σ*, μ* + r σ*]) = Σ_d log [1 − 2 Q(r_d)], whatever μ* and σ*.

        A fixed parameter is always inside, whatever its radius.

        Args:
            radius: r ≥ 0, for each parameter or one for all.
        """
        terms = log_mass_lower(-radius, radius).expand(*radius.shape[:-1], self.dimension)
        fixed = self.scale == 0
        return sum_down(torch.where(fixed, 0.0, terms) if fixed.any() else terms)

    def layers(self, network: Network) -> Sequence[RandomAffine]:
        """Each affine layer, as W = M + S∘Z and b = m + s∘z, convolutions and means over windows among them.

        Scales are rounded up to the largest within the stated error, which `shrinkage` gives back; 0 stays 0.

        Args:
            network: whose parameters the law is about.
        """
        error = torch.zeros_like(self.loc) if self.loc_error is None else self.loc_error
        scale = self.scale
        if self.scale_error:
            scale = torch.where(scale == 0, 0.0, up(up(scale * (1 + 2 * self.scale_error))))
        return [
            _layer(place, (self.loc, scale, error), 4 * self.scale_error)
            for place in parameter_places(network)
        ]

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """μ + σ Z with Z standard normal, drawn on the generator's device in single precision.

        Single precision makes drawing five times faster; it cuts Z off beyond 5.7 deviations. Samples
        choose boxes and feed estimates; no certificate relies on their law.
        """
        z = torch.randn(
            count, self.dimension, generator=generator, device=generator.device, dtype=torch.float32
        )
        samples = z.to(self.loc.device, torch.float64)
        return torch.addcmul(self.loc, self.scale, samples, out=samples)

    def log_mass(self, box: Box) -> Float64[Tensor, "*batch"]:
        """A lower bound of log q(H) = Σ_d log [Φ((u_d − μ_d)/σ_d) − Φ((ℓ_d − μ_d)/σ_d)].

        Each factor grows with its upper and falls with its lower end point, so the end points are
        taken inward by what rounding may have done to them. A fixed parameter counts 1 if all means within
        the stated error lie strictly inside the box, and 0 otherwise.
        """
        a, a_error = self._standardised(box.lower)
        b, b_error = self._standardised(box.upper)
        terms, fixed = log_mass_lower(a + a_error, b - b_error), self.scale == 0
        if fixed.any():
            least, most = self._means()
            inside = (box.lower < least) & (most < box.upper)
            terms = torch.where(fixed, torch.where(inside, 0.0, -math.inf), terms)
        return sum_down(terms)

    def log_mass_upper(self, box: Box) -> Float64[Tensor, "*batch"]:
        """An upper bound of log q(H), from end points taken outward; −inf if a fixed parameter is outside."""
        a, a_error = self._standardised(box.lower)
        b, b_error = self._standardised(box.upper)
        terms, fixed = log_mass_upper(a - a_error, b + b_error), self.scale == 0
        if not fixed.any():
            return sum_up(terms)
        least, most = self._means()
        possible = ~fixed | ((box.lower <= most) & (least <= box.upper))
        return torch.where(possible.all(-1), sum_up(torch.where(fixed, 0.0, terms)), -math.inf)

    def _means(self) -> tuple[Float64[Tensor, "n_w"], Float64[Tensor, "n_w"]]:
        """The least and the greatest mean within the stated error."""
        if self.loc_error is None:
            return self.loc, self.loc
        return down(self.loc - self.loc_error), up(self.loc + self.loc_error)

    def _standardised(
        self, x: Float[Tensor, "*batch n_w"]
    ) -> tuple[Float[Tensor, "*batch n_w"], Float[Tensor, "*batch n_w"]]:
        """(x − μ)/σ and a bound of its error: the law's, and that of five roundings."""
        if x.shape[-1] != self.dimension:
            raise ShapeMismatch(f"a box of {x.shape[-1]} coordinates, a law of {self.dimension}")
        z = (x - self.loc) / self.scale
        magnitude = z.abs()
        error = rounding_error(5, magnitude)
        if self.scale_error:
            error = error + 2 * self.scale_error * magnitude
        if self.loc_error is not None:
            error = error + 2 * self.loc_error / self.scale
        return z, error


def _layer(place: Place, vectors: tuple[Tensor, Tensor, Tensor], shrinkage: float) -> RandomAffine:
    """One layer, of means, scales and errors of all parameters."""
    if isinstance(place.layer, AvgPool2d):
        return ConvAffine.mean_pool(place.layer, vectors[0].device)
    (M, m), (S, s), (E, e) = ((vector[place.weights], vector[place.biases]) for vector in vectors)
    if isinstance(place.layer, Conv2d):
        return ConvAffine(place.layer, M, m, S, s, E, e, shrinkage)
    return DiagonalAffine(M, m, S, s, E, e, shrinkage)
