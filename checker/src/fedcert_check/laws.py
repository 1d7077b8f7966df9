"""The laws that this checker knows: what a client's message says of its parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedcert_check.registry import Registry
from fedcert_check.validation import Array, require, shaped

MAX_COMPONENTS = 10_000


@dataclass(frozen=True)
class DiagonalGaussian:
    """N(μ, diag σ²), in the floats that a message states.

    Attributes:
        loc: μ, of shape (n_w,).
        scale: σ ≥ 0; a parameter with σ = 0 is fixed.
    """

    loc: Array
    scale: Array

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

    @property
    def components(self) -> tuple["DiagonalGaussian", ...]:
        """The law itself, its only component."""
        return (self,)

    @property
    def weights(self) -> Array:
        """Of its only component."""
        return np.ones(1)


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


Law = DiagonalGaussian | GaussianMixture
"""What a message may state of a client's parameters."""

LAWS: Registry[Callable[[Mapping[str, Array], int], Law]] = Registry(
    "law", {"diagonal-gaussian": DiagonalGaussian.read, "gaussian-mixture": GaussianMixture.read}
)
"""How a law is read from a message's tensors, by its name."""
