"""The covariance of parameters that depend on each other, and what it says of their projections.

A covariance Σ* is known by a matrix Σ of floats and upper bounds d of the parameters' deviations, with
|Σ*_ab − Σ_ab| ≤ ε d_a d_b. So for coefficients c

    c·Σ* c ≤ c·Σ c + ε (|c|·d)²,

and what the roundings of c·Σ c lose is of the same form, since |Σ_ab| ≤ (1 + ε) d_a d_b.
"""

from dataclasses import dataclass

from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.numerics.rounding import above, down, gamma, up

ELEMENTS = 2**24  # maximum number of elements in the largest tensor of a projection, which bounds the memory
HIDDEN = 2.0**-498
"""Added to every deviation and to every (|c|·d): the charge for these is above what underflows lose.

n products of coefficients of sum S lose at most n 2^-1074 (S + 1), and the charge is n 2^-49 (S + 1)² 2^-996.
"""


@dataclass(frozen=True)
class Covariance:
    """Σ* with |Σ*_ab − Σ_ab| ≤ ε d_a d_b.

    Attributes:
        matrix: Σ.
        deviation: d ≥ √Σ*_aa, positive.
        error: ε.
    """

    matrix: Float64[Tensor, "n n"]
    deviation: Float64[Tensor, "n"]
    error: float

    @classmethod
    def of_factor(cls, factor: Float64[Tensor, "n q"], factor_error: float) -> "Covariance":
        """Σ* = F* F*ᵀ for every F* with |F* − F| ≤ η |F|, entry by entry.

        |F*F*ᵀ − FFᵀ| ≤ (2η + η²) |F||F|ᵀ, the roundings of FFᵀ are at most γ_q |F||F|ᵀ, and
        (|F||F|ᵀ)_ab ≤ ‖F_a‖ ‖F_b‖ by Cauchy and Schwarz. Entries of F are 0 or at least 1e-100, so that no
        product underflows.

        Args:
            factor: F.
            factor_error: η ≤ ½.
        """
        columns = factor.shape[-1]
        norm = up(above((factor * factor).sum(-1), columns + 2).sqrt())
        deviation = up(up(norm * (1 + 2 * factor_error)) + HIDDEN)
        return cls(factor @ factor.mT, deviation, 3 * factor_error + gamma(4 * (columns + 4)))

    def of(self, chosen: Int64[Tensor, "m"]) -> "Covariance":
        """The covariance of some of the parameters.

        Args:
            chosen: their places.
        """
        return Covariance(self.matrix[chosen][:, chosen], self.deviation[chosen], self.error)

    @property
    def charge(self) -> float:
        """What a quadratic form in n parameters may lose, relative to (|c|·d)²: ε and its roundings."""
        return 2 * self.error + gamma(16 * (len(self.deviation) + 8))

    def of_projection(self, coefficients: Float64[Tensor, "*batch n"]) -> Float64[Tensor, "*batch"]:
        """Upper bounds of √(c·Σ* c), the deviations of projections with coefficients c."""
        flat = coefficients.reshape(-1, coefficients.shape[-1])
        value = ((flat @ self.matrix) * flat).sum(-1).reshape(coefficients.shape[:-1])
        return self.root(value, coefficients.abs() @ self.deviation)

    def least_projection(self, coefficients: Float64[Tensor, "*batch n"]) -> Float64[Tensor, "*batch"]:
        """Lower bounds of √(c·Σ* c); the charge of the upper ones bounds the distance on both sides."""
        flat = coefficients.reshape(-1, coefficients.shape[-1])
        value = ((flat @ self.matrix) * flat).sum(-1).reshape(coefficients.shape[:-1])
        size = coefficients.abs() @ self.deviation + HIDDEN
        variance = down(value - above(self.charge * size * size, 4)).clamp(min=0.0)
        return down(variance.sqrt()).clamp(min=0.0)

    def root(
        self, value: Float64[Tensor, "*batch"], size: Float64[Tensor, "*batch"]
    ) -> Float64[Tensor, "*batch"]:
        """Upper bounds of the roots of quadratic forms.

        Args:
            value: the forms, as floating point found them.
            size: Σ_a |c_a| d_a for each, or more, as floating point found it.
        """
        size = size + HIDDEN
        variance = up(value + up(self.charge * size * size)).clamp(min=0.0)
        return up(above(variance, 4).sqrt())


def rows_at_a_time(elements: int) -> int:
    """The number of rows that are treated at once, if each takes so many elements."""
    return max(1, ELEMENTS // max(1, elements))


def weighed_sizes(
    gram: Float64[Tensor, "N k k"],
    weights: Float64[Tensor, "N k"],
    excess: Float64[Tensor, "N k"],
    charge: float,
) -> Float64[Tensor, "N"]:
    """√Σ_kl w_k w_l |G*_kl| for w ≥ 0 and every G* with |G*_kl − G_kl| ≤ η e_k e_l, from above.

    Args:
        gram: G.
        weights: w.
        excess: e.
        charge: η, at least four times what roundings and the law's error make it.
    """
    inner = (gram.abs() @ weights.unsqueeze(-1)).squeeze(-1)  # first: products of weights alone may underflow
    value = (inner * weights).sum(-1)
    size = (weights * (excess + HIDDEN)).sum(-1)
    variance = above(value, 2 * weights.shape[-1] + 4) + up(charge * size * size)
    return up(above(variance, 4).sqrt())
