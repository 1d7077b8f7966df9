"""The laws that this checker knows: what a client's message says of its parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedcert_check.blocks import BlockGaussian
from fedcert_check.errors import InvalidCertificate
from fedcert_check.registry import Registry
from fedcert_check.validation import Array, require, shaped

MAX_COMPONENTS = 10_000
MAX_COLUMNS = 10_000


@dataclass(frozen=True)
class DiagonalGaussian:
    """N(μ, diag σ²), in the floats that a message states.

    Attributes:
        loc: μ, of shape (n_w,).
        scale: σ ≥ 0; a parameter with σ = 0 is fixed.
        loc_error: of a sum of clients' summands, which encloses the deployed law: bound of |μ* − μ|, of shape
            (n_w,); None for a client's own law, which is exact.
        scale_error: the same of |σ*/σ − 1|.
    """

    loc: Array
    scale: Array
    loc_error: Array | None = None
    scale_error: float = 0.0

    @classmethod
    def read(cls, arrays: Mapping[str, Array], dimension: int) -> "DiagonalGaussian":
        """The law of a message.

        Args:
            arrays: the message's tensors.
            dimension: n_w.
        """
        loc = shaped("law.loc", arrays.get("law.loc"), np.float64, dimension)
        scale = shaped("law.scale", arrays.get("law.scale"), np.float64, dimension)
        require(bool((scale >= 0).all()), "a scale is negative")
        return cls(loc, scale)

    @classmethod
    def read_enclosed(cls, arrays: Mapping[str, Array], dimension: int) -> "DiagonalGaussian":
        """The law of a sum, known up to its errors.

        Args:
            arrays: the message's tensors.
            dimension: n_w.
        """
        own = cls.read(arrays, dimension)
        require(bool((own.scale > 0).all()), "an enclosed law has no fixed parameters")
        error = shaped("law.loc_error", arrays.get("law.loc_error"), np.float64, dimension)
        require(bool(((error >= 0) & (error < np.inf)).all()), "the error of a mean is no finite number ≥ 0")
        (relative,) = shaped("law.scale_error", arrays.get("law.scale_error"), np.float64, 1).tolist()
        require(0 <= relative <= 0.5, "the relative error of the scales lies outside [0, 1/2]")
        return cls(own.loc, own.scale, error, relative)

    @property
    def exact(self) -> bool:
        """Whether the law is a client's own, which it states without error."""
        return self.loc_error is None

    @property
    def components(self) -> tuple["DiagonalGaussian", ...]:
        """The law itself, its only component."""
        return (self,)

    @property
    def weights(self) -> Array:
        """Of its only component."""
        return np.ones(1)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All that the message says of it."""
        return self.loc, self.scale


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """Σ_k π_k N(μ_k, diag σ_k²) with π_k = weight_k / Σ_j weight_j.

    Attributes:
        loc: μ, of shape (K, n_w).
        scale: σ ≥ 0.
        weights: positive numbers, of shape (K,).
    """

    loc: Array
    scale: Array
    weights: Array

    @classmethod
    def read(cls, arrays: Mapping[str, Array], dimension: int, prefix: str = "law.") -> "GaussianMixture":
        """The law of a message, or one that a file states itself.

        Args:
            arrays: the tensors of the message or the file.
            dimension: n_w.
            prefix: of the tensors' names.
        """
        weights = shaped(prefix + "weights", arrays.get(prefix + "weights"), np.float64, None)
        count = len(weights)
        require(0 < count <= MAX_COMPONENTS, f"a law of {count} components")
        loc = shaped(prefix + "loc", arrays.get(prefix + "loc"), np.float64, count, dimension)
        scale = shaped(prefix + "scale", arrays.get(prefix + "scale"), np.float64, count, dimension)
        require(bool((weights > 0).all()), "the weight of a component is not positive")
        require(bool((scale >= 0).all()), "a scale is negative")
        return cls(loc, scale, weights)

    @cached_property
    def components(self) -> tuple[DiagonalGaussian, ...]:
        """The Gaussians."""
        return tuple(DiagonalGaussian(*own) for own in zip(self.loc, self.scale, strict=True))

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All that the message says of it."""
        return self.loc, self.scale, self.weights


def is_exact(law: "Law") -> bool:
    """Whether a law is stated without error; only the sum of clients' summands is not.

    Args:
        law: of a message.
    """
    return all(part.exact for part in law.components)


def read_dense(arrays: Mapping[str, Array], dimension: int) -> BlockGaussian:
    """N(μ, F Fᵀ) of a message, the law of μ + F z for independent standard normals z: one dense block.

    Args:
        arrays: the message's tensors.
        dimension: n_w.
    """
    loc = shaped("law.loc", arrays.get("law.loc"), np.float64, dimension)
    factor = shaped("law.factor", arrays.get("law.factor"), np.float64, dimension, None)
    require(factor.shape[1] <= MAX_COLUMNS, f"a factor of {factor.shape[1]} columns")
    return BlockGaussian.of_factor(loc, factor)


Component = DiagonalGaussian | BlockGaussian
Law = DiagonalGaussian | GaussianMixture | BlockGaussian
"""What a message may state of a client's parameters."""

DEPENDENT = "has parameters that depend on each other: this claim has no proof for such a law"


def diagonal(law: "Component") -> DiagonalGaussian:
    """The law, if its parameters are independent; any other is refused.

    Args:
        law: one Gaussian.
    """
    if not isinstance(law, DiagonalGaussian):
        raise InvalidCertificate(f"a client's law {DEPENDENT}")
    return law


LAWS: Registry[Callable[[Mapping[str, Array], int], Law]] = Registry(
    "law",
    {
        "diagonal-gaussian": DiagonalGaussian.read,
        "gaussian-mixture": GaussianMixture.read,
        "enclosed-gaussian": DiagonalGaussian.read_enclosed,
        "dense-gaussian": read_dense,
        "block-gaussian": BlockGaussian.read,
    },
)
"""How a law is read from a message's tensors, by its name."""
