"""The laws that this checker knows: what a client's message says of its parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from fedcert_check.registry import Registry
from fedcert_check.validation import Array, require, shaped


@dataclass(frozen=True)
class DiagonalGaussian:
    """N(μ, diag σ²), in the floats that a message states.

    Attributes:
        loc: μ, of shape (n_w,).
        scale: σ > 0.
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
        require(bool((scale > 0).all()), "a scale is not positive")
        return cls(loc, scale)


LAWS: Registry[Callable[[Mapping[str, Array], int], DiagonalGaussian]] = Registry(
    "law", {"diagonal-gaussian": DiagonalGaussian.read}
)
"""How a law is read from a message's tensors, by its name."""
