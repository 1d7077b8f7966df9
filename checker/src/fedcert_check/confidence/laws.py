"""The laws that networks are drawn from: Gaussians, and mixtures of diagonal ones with exact weights."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fedcert_check.blocks import BlockGaussian
from fedcert_check.confidence.dependent import Dependent
from fedcert_check.confidence.normals import LARGEST_NORMAL, NORMAL_ERROR
from fedcert_check.confidence.seed import law_digest
from fedcert_check.laws import GaussianMixture, Law, diagonal, is_exact
from fedcert_check.validation import Array, require

WORDS = 2**64
ROUNDING = 2.0**-50  # more than the roundings of μ + σ z, relatively
UNDERFLOW = 2.0**-1000


@dataclass(frozen=True, eq=False)
class Mixture:
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
    def of(cls, law: Law) -> "Mixture":
        """What a message states; a Gaussian is a mixture of one.

        Args:
            law: of the message.
        """
        require(is_exact(law), "networks are drawn from exact laws, not from a sum of clients' laws")
        if isinstance(law, GaussianMixture):
            return cls(law.loc, law.scale, law.weights)
        own = diagonal(law)
        return cls(own.loc[None], own.scale[None], own.weights)

    @property
    def stated(self) -> GaussianMixture:
        """The law as a message would state it."""
        return GaussianMixture(self.loc, self.scale, self.weights)

    @property
    def digest(self) -> str:
        """What stands for the law in the seed, if no message states it."""
        return law_digest(list(self.loc), list(self.scale), self.weights)

    @property
    def nbytes(self) -> int:
        """The size of the arrays."""
        return self.loc.nbytes + self.scale.nbytes + self.weights.nbytes

    @property
    def dimension(self) -> int:
        """n_w."""
        return self.loc.shape[1]

    @property
    def normals(self) -> int:
        """One a parameter."""
        return self.dimension

    @property
    def products(self) -> int:
        """One a parameter."""
        return self.dimension

    @property
    def size(self) -> Array:
        """A bound of the absolute value of each parameter, whatever the draw."""
        largest: Array = (abs(self.loc) + LARGEST_NORMAL * self.scale).max(0)
        return largest

    @property
    def radius(self) -> Array:
        """What the normals are off by, and the roundings of μ + σ∘z."""
        off: Array = NORMAL_ERROR * self.scale.max(0) + ROUNDING * self.size + UNDERFLOW
        return off

    def draw(self, component: int, z: Array) -> Array:
        """The parameters μ + σ∘z of one component.

        Args:
            component: which.
            z: standard normals.
        """
        theta: Array = self.loc[component] + self.scale[component] * z
        return theta

    def ends(self) -> list[tuple[int, int]]:
        """The least and the greatest word k of each component: all of [k, k + 1) / 2^64 chooses it."""
        return ends(self.weights)


DrawnLaw = Mixture | Dependent
"""A client's law, ready to be drawn from."""


def drawn(law: Law) -> DrawnLaw:
    """What a message states, ready to be drawn from.

    Args:
        law: of the message.
    """
    return Dependent(law) if isinstance(law, BlockGaussian) else Mixture.of(law)


def read_law(arrays: Mapping[str, Array], client: int, dimension: int) -> DrawnLaw:
    """A law that the file itself states: by blocks, or as a mixture.

    Args:
        arrays: the file's tensors.
        client: its place among the clients.
        dimension: n_w.
    """
    prefix = f"law.{client}."
    if prefix + "blocks" in arrays:
        return drawn(BlockGaussian.read(arrays, dimension, prefix))
    return drawn(GaussianMixture.read(arrays, dimension, prefix))


def ends(weights: Array) -> list[tuple[int, int]]:
    """The least and the greatest word k of each weight: all of [k, k + 1) / 2^64 lies in its share.

    Args:
        weights: not negative, and not all zero; a weight of zero has no words.
    """
    exact = [Fraction(weight) for weight in weights.tolist()]
    total, below, found = sum(exact), Fraction(0), []
    for weight in exact:
        above = below + weight
        found.append((math.ceil(below * WORDS / total), math.floor(above * WORDS / total) - 1))
        below = above
    return found
