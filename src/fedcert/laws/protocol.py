"""What a law must offer, and what some laws offer besides."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.laws.affine import RandomAffine
from fedcert.model.network import Network
from fedcert.numerics.box import Box


@runtime_checkable
class Law(Protocol):
    """A probability law q on parameter vectors: a Gaussian, or a finite mixture of Gaussians.

    Examples:
        >>> from fedcert import DiagonalGaussian
        >>> isinstance(DiagonalGaussian(torch.zeros(2).double(), torch.ones(2).double()), Law)
        True
    """

    @property
    def dimension(self) -> int:
        """n_w, the length of a parameter vector."""
        ...

    @property
    def loc(self) -> Float64[Tensor, "n_w"]:
        """The mean."""
        ...

    @property
    def components(self) -> tuple["GaussianLaw", ...]:
        """The Gaussians that the law is a mixture of; a Gaussian is its own only component."""
        ...

    def sample(self, count: int, generator: torch.Generator) -> Float64[Tensor, "count n_w"]:
        """Draw independent parameter vectors."""
        ...


@runtime_checkable
class GaussianLaw(Law, Protocol):
    """A Gaussian law that knows what a network sees of it, layer by layer: projected events need no more."""

    def layers(self, network: Network) -> Sequence[RandomAffine]:
        """Each affine layer of the network under this law."""
        ...


@runtime_checkable
class BoxMeasurable(Law, Protocol):
    """A law that knows the mass of boxes: cells and box events need it."""

    def log_mass(self, box: Box) -> Float64[Tensor, "*batch"]:
        """A lower bound of log q(H) for each box H."""
        ...

    def log_mass_upper(self, box: Box) -> Float64[Tensor, "*batch"]:
        """An upper bound of log q(H) for each box H."""
        ...


@runtime_checkable
class DiagonalLaw(GaussianLaw, BoxMeasurable, Protocol):
    """N(μ*, diag σ*²): μ* is within `loc_error` of `loc`, σ* within a factor 1 ± `scale_error` of `scale`."""

    @property
    def scale(self) -> Float64[Tensor, "n_w"]:
        """σ ≥ 0; 0 for a fixed parameter."""
        ...

    @property
    def loc_error(self) -> Float64[Tensor, "n_w"] | None:
        """Bound of |μ* − μ|; None where μ is exact."""
        ...

    @property
    def scale_error(self) -> float:
        """Bound of |σ*/σ − 1|."""
        ...

    def central_box(self, radius: Float64[Tensor, "*batch n_w_or_1"]) -> Box:
        """A box that contains [μ* − r σ*, μ* + r σ*]."""
        ...

    def central_log_mass(self, radius: Float64[Tensor, "*batch n_w_or_1"]) -> Float64[Tensor, "*batch"]:
        """A lower bound of log q([μ* − r σ*, μ* + r σ*])."""
        ...


def is_diagonal(law: Law) -> bool:
    """Whether the parameters of all of a law's components are independent.

    Args:
        law: a client's.
    """
    return all(isinstance(component, DiagonalLaw) for component in law.components)


def diagonal_components(law: Law) -> tuple[DiagonalLaw, ...]:
    """The Gaussians that a law is a mixture of, where their parameters are independent; otherwise an error.

    Args:
        law: a client's.
    """
    found = tuple(component for component in law.components if isinstance(component, DiagonalLaw))
    if len(found) < len(law.components):
        raise InvalidLaw(
            f"a {type(law).__name__} has parameters that depend on each other: boxes, and rules that"
            " weigh each parameter by its precision, need independent ones; confidence bounds need these, a"
            " DenseGaussian or a BlockGaussian"
        )
    return found
