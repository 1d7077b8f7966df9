"""Gaussians whose parameters depend on each other: N(μ, F Fᵀ)."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw, UnsupportedLayer
from fedcert.laws.affine import RandomAffine
from fedcert.laws.conv_affine import ConvAffine
from fedcert.laws.covariance import Covariance
from fedcert.laws.dependent_affine import DependentAffine, JoinedDependentAffine
from fedcert.laws.dependent_conv import DependentConvAffine, JoinedConvAffine
from fedcert.laws.diagonal import LARGEST, SMALLEST
from fedcert.laws.noise_parts import DensePart
from fedcert.laws.places import Place, parameter_places
from fedcert.laws.protocol import DiagonalLaw, GaussianLaw
from fedcert.model.layers import Affine, AvgPool2d, Conv2d
from fedcert.model.network import Network
from fedcert.numerics.convert import doubled
from fedcert.numerics.rounding import require_float64

MAX_COLUMNS = 10_000
"""Maximum number of columns of a factor that a message states."""
MAX_DENSE = 10_000
"""Maximum number of parameters of a law whose covariance is computed: 0.8 GB."""


@dataclass(frozen=True)
class DenseGaussian:
    """N(μ, F Fᵀ): θ = μ + F z with independent standard normals z, whatever F is.

    Any F states a law: nothing has to be believed of it, neither that a covariance is positive nor that a
    decomposition is exact. A parameter whose row of F is 0 is fixed.

    A law that was itself computed carries what rounding may have done to it: the exact law has a mean within
    `loc_error` of `loc`, and a factor F* with |F* − F| ≤ `factor_error` |F|, entry by entry.

    Attributes:
        loc: μ, finite.
        factor: F, entries 0 or from `SMALLEST` to `LARGEST` in absolute value.
        loc_error: bound of |μ* − μ|; None where μ is exact.
        factor_error: bound of |F*/F − 1|, at most ½.

    Examples:
        >>> law = DenseGaussian(torch.zeros(2).double(), torch.tensor([[1, 0], [1, 1]]).double())
        >>> law.covariance.matrix.tolist()
        [[1.0, 1.0], [1.0, 2.0]]
    """

    kind: ClassVar[str] = "dense-gaussian"
    fields: ClassVar[Mapping[str, tuple[str, ...]]] = {"loc": ("n_w",), "factor": ("n_w", "q")}
    limits: ClassVar[Mapping[str, int]] = {"q": MAX_COLUMNS}

    loc: Float64[Tensor, "n_w"]
    factor: Float64[Tensor, "n_w q"]
    loc_error: Float64[Tensor, "n_w"] | None = None
    factor_error: float = 0.0

    def __post_init__(self) -> None:
        doubled(self, "a law's mean and factor", "loc", "factor")
        require_float64("the error of a law's mean", self.loc_error)
        if self.loc.dim() != 1 or self.factor.dim() != 2 or len(self.loc) != len(self.factor):
            raise InvalidLaw(
                f"a mean of shape {tuple(self.loc.shape)} and a factor of shape {tuple(self.factor.shape)},"
                " not (n_w,) and (n_w, q)"
            )
        if self.loc_error is not None and self.loc_error.shape != self.loc.shape:
            raise InvalidLaw(f"errors of shape {tuple(self.loc_error.shape)} for {len(self.loc)} means")
        if not (self.loc.abs() <= LARGEST).all():
            raise InvalidLaw("the mean must be finite; found NaN, infinity or a value beyond 1e100")
        if not 0 <= self.factor_error <= 0.5:
            raise InvalidLaw(f"the error of a factor must lie in [0, 0.5], not {self.factor_error}")
        size = self.factor.abs()
        allowed = ((size >= SMALLEST) & (size <= LARGEST)) | (size == 0)
        if not allowed.all():
            raise InvalidLaw(
                f"an entry of the factor must be 0 or lie in [{SMALLEST}, {LARGEST}] in absolute value; found"
                f" {self.factor[~allowed][0].item()}"
            )

    @classmethod
    def of(cls, law: GaussianLaw) -> "DenseGaussian":
        """The same law, stated by a factor: of independent parameters, the diagonal matrix of their scales.

        Args:
            law: a Gaussian.
        """
        if isinstance(law, DenseGaussian):
            return law
        if not isinstance(law, DiagonalLaw):
            raise InvalidLaw(f"a {type(law).__name__} has no factor of its covariance")
        require_dense(law.dimension)
        return cls(law.loc, torch.diag(law.scale), law.loc_error, law.scale_error)

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        return len(self.loc)

    @property
    def components(self) -> tuple["DenseGaussian", ...]:
        """The law itself, its only component."""
        return (self,)

    def tensors(self) -> Mapping[str, Tensor]:
        """μ and F, if they are exact."""
        if self.loc_error is not None or self.factor_error:
            raise InvalidLaw("a client states its law exactly")
        return {"loc": self.loc, "factor": self.factor}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], naming: Callable[[str], AbstractContextManager[None]]
    ) -> "DenseGaussian":
        """The law that a file states; what is wrong is said of its field.

        Args:
            tensors: by field.
            naming: errors inside `naming(field)` name the field.
        """
        with naming("loc"):
            cls(tensors["loc"], tensors["loc"].new_zeros(len(tensors["loc"]), 0))
        with naming("factor"):
            return cls(tensors["loc"], tensors["factor"])

    def to(self, device: torch.device | str) -> "DenseGaussian":
        """The same law on another device."""
        error = None if self.loc_error is None else self.loc_error.to(device)
        return DenseGaussian(self.loc.to(device), self.factor.to(device), error, self.factor_error)

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """μ + F z with z standard normal, drawn on the generator's device in single precision."""
        columns = self.factor.shape[-1]
        z = torch.randn(count, columns, generator=generator, device=generator.device, dtype=torch.float32)
        return torch.addmm(self.loc, z.to(self.loc.device, torch.float64), self.factor.mT)

    @cached_property
    def covariance(self) -> Covariance:
        """F Fᵀ."""
        require_dense(self.dimension)
        return Covariance.of_factor(self.factor, self.factor_error)

    def layers(self, network: Network) -> Sequence[RandomAffine]:
        """Each affine layer; joined, if some normal has a part in the parameters of several layers.

        Args:
            network: whose parameters the law is about.
        """
        places = parameter_places(network)
        used = torch.stack([self.factor[place.every].any(0) for place in places])
        joint = None
        if (used.sum(0) > 1).any():
            if not all(isinstance(place.layer, Affine | Conv2d) for place in places):
                raise UnsupportedLayer("a law that joins layers takes no means over windows between them")
            joint = self.covariance.of(torch.cat([place.every for place in places]))
        return [self._layer(place, joint) for place in places]

    def _layer(self, place: Place, joint: Covariance | None) -> RandomAffine:
        error = torch.zeros_like(self.loc) if self.loc_error is None else self.loc_error
        weights, biases, rows = place.weights, place.biases, place.every
        if isinstance(place.layer, AvgPool2d):
            return ConvAffine.mean_pool(place.layer, self.loc.device)
        means = (self.loc[weights], self.loc[biases], error[weights], error[biases])
        fixed_weights = not bool(self.factor[weights.flatten()].any())
        parts: tuple[DensePart, ...] = ()
        if self.factor[rows].any():
            m, k = weights.flatten(0, -2).shape
            parts = (DensePart((m, k), self.covariance.of(rows), fixed_weights),)
        if isinstance(place.layer, Conv2d):
            known = ConvAffine.fixed_at(place.layer, *means)
            if joint is not None:
                return JoinedConvAffine.of_parts(known, parts, joint=joint)
            return DependentConvAffine.of_parts(known, parts) if parts else known
        if joint is None:
            return DependentAffine(*means, parts)
        return JoinedDependentAffine(*means, parts, joint)


def require_dense(dimension: int) -> None:
    """Raise where a covariance matrix would take too much memory.

    Args:
        dimension: n_w.
    """
    if dimension > MAX_DENSE:
        raise InvalidLaw(f"a covariance of {dimension} parameters: a dense law has {MAX_DENSE} at most")
