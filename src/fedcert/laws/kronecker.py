"""Kronecker-factored noise of a weight matrix: W̃ = U (D∘Z) Vᵀ with independent standard normals Z.

Nothing is assumed of U and V: any matrices state a law. If they are orthogonal, the covariance has the
eigenvectors U ⊗ V and the eigenvalues D², as a Laplace approximation with D_jk = (λ_j ν_k + δ)^−½ has it.
For rows B,

    Var(B W̃ h) = Σ_jk (Uᵀ B)_j² D_jk² (Vᵀ h)_k²    and    Cov(B W̃) = V diag(g) Vᵀ,  g_k = Σ_j (Uᵀ B)_j² D_jk².
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.independent_noise import norm_up
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, below, down, gamma, rounding_error, up


@dataclass(frozen=True)
class KroneckerPart:
    """U (D∘Z) Vᵀ, and no noise of the biases.

    Attributes:
        left: U.
        right: V.
        scale: D ≥ 0, upper bounds.
        shrinkage: η with D* ≥ (1 − η) D for the exact D*.
    """

    left: Float64[Tensor, "m a"]
    right: Float64[Tensor, "k b"]
    scale: Float64[Tensor, "a b"]
    shrinkage: float = 0.0

    @property
    def fixed_weights(self) -> bool:
        """Whether no weight is random."""
        return not bool(self.scale.any())

    @cached_property
    def square(self) -> Float64[Tensor, "a b"]:
        """D², rounded up."""
        return up(self.scale * self.scale)

    @cached_property
    def weight_deviation(self) -> Float64[Tensor, "m k"]:
        """Bounds of √Σ_ab U_ja² D_ab² V_kb²."""
        left, right = up(self.left * self.left), up(self.right * self.right)
        rows = above(left @ self.square, left.shape[-1] + 4)
        return up(above(rows @ right.mT, right.shape[-1] + 4).sqrt())

    @cached_property
    def bias_deviation(self) -> Float64[Tensor, "m"]:
        """0."""
        return self.left.new_zeros(len(self.left))

    @cached_property
    def stretch(self) -> Float64[Tensor, ""]:
        """A bound of ‖V‖²."""
        return stretch(self.right)

    def noise(self, rows: Float64[Tensor, "P R m"]) -> "KroneckerNoise":
        """What rows B see of it: g."""
        projected = sizes_of_products(rows, self.left)
        g = above(up(projected * projected) @ self.square, self.left.shape[-1] + 4)
        return KroneckerNoise(self, g, rows)


@dataclass(frozen=True)
class KroneckerNoise:
    """B W̃ for rows B, of covariance V diag(g) Vᵀ.

    Attributes:
        part: the noise.
        g: upper bounds of g.
        rows: B.
    """

    part: KroneckerPart
    g: Float64[Tensor, "P R b"]
    rows: Float64[Tensor, "P R m"]

    @cached_property
    def weight(self) -> Float64[Tensor, "P R k"]:
        """√Σ_b V_kb² g_b."""
        right = up(self.part.right * self.part.right)
        return up(above(self.g @ right.mT, right.shape[-1] + 4).sqrt())

    @cached_property
    def bias(self) -> Float64[Tensor, "P R"]:
        """0."""
        return torch.zeros_like(self.g[..., 0])

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """√Σ_b g_b (Vᵀh)_b²."""
        projected = sizes_of_products(h, self.part.right)
        value = (self.g * up(projected * projected).unsqueeze(-2)).sum(-1)
        return up(above(value, self.g.shape[-1] + 4).sqrt())

    def at_least(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The same from below: every factor of every product is, and none is negative."""
        left, right = least_products(self.rows, self.part.left), least_products(h, self.part.right)
        scale = down(self.part.scale * (1 - self.part.shrinkage)).clamp(min=0.0)
        squares = [down(own * own).clamp(min=0.0) for own in (left, scale, right)]
        g = below(squares[0] @ squares[1], left.shape[-1] + 4)
        value = below((g * squares[2].unsqueeze(-2)).sum(-1), g.shape[-1] + 4)
        return down(value.sqrt()).clamp(min=0.0)

    def along(self, directions: Float64[Tensor, "P k J"]) -> Float64[Tensor, "P R J"]:
        """√Σ_b g_b (Vᵀt)_b², for each column t."""
        projected = sizes_of_products(directions.mT, self.part.right)
        value = self.g @ up(projected * projected).mT
        return up(above(value, self.g.shape[-1] + 4).sqrt())

    def covariances(
        self, h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"]]:
        """Σ_b V_kb g_b (Vᵀh)_b, for g as it is; three sums and products are rounded."""
        right = self.part.right
        size, terms = right.abs(), 2 * len(right) + self.g.shape[-1] + 8
        found = (self.g * (h @ right).unsqueeze(-2)) @ right.mT
        magnitude = (self.g * (h.abs() @ size).unsqueeze(-2)) @ size.mT
        hidden = terms * SMALLEST_NORMAL * (self.g @ size.mT + size.sum(-1) + 1)  # what underflows lose
        return found, above(rounding_error(terms, magnitude) + hidden, terms)

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """The least of Σ_k δ_k r_k, √Σ_b g_b (|V|ᵀδ)_b² and ‖δ‖ ‖V‖ √max g, for |v| ≤ δ.

        Each bounds √(v·V diag(g) Vᵀv): by the triangle inequality, by |Vᵀv| ≤ |V|ᵀδ, and by
        Σ_b g_b (Vᵀv)_b² ≤ max g ‖Vᵀv‖².

        Args:
            delta: δ.
        """
        terms = self.g.shape[-1] + len(self.part.right) + 8
        together = above((self.weight * delta.unsqueeze(-2)).sum(-1), terms)
        reach = above(delta @ self.part.right.abs(), terms)
        apart = up(above((self.g * up(reach * reach).unsqueeze(-2)).sum(-1), terms).sqrt())
        widest = up(above(self.g.amax(-1) * self.part.stretch, 4).sqrt())
        return torch.minimum(torch.minimum(together, apart), up(widest * norm_up(delta).unsqueeze(-1)))


def stretch(matrix: Float64[Tensor, "k b"]) -> Float64[Tensor, ""]:
    """A bound of ‖V‖², the largest row sum of |VᵀV|: 1 and little more if V is orthogonal.

    Args:
        matrix: V.
    """
    k, size = len(matrix), matrix.abs()
    sums = (matrix.mT @ matrix).abs() + gamma(4 * (k + 2)) * (size.mT @ size) + k * SMALLEST_NORMAL
    return above(sums.sum(-1), 2 * k + 8).amax()


def sizes_of_products(
    rows: Float64[Tensor, "*batch m"], matrix: Float64[Tensor, "m a"]
) -> Float64[Tensor, "*batch a"]:
    """Upper bounds of |B U| for rows B.

    Args:
        rows: B.
        matrix: U.
    """
    value, error = _product_and_error(rows, matrix)
    return above(value + error, 4) + (len(matrix) + 2) * SMALLEST_NORMAL


def least_products(
    rows: Float64[Tensor, "*batch m"], matrix: Float64[Tensor, "m a"]
) -> Float64[Tensor, "*batch a"]:
    """Lower bounds of |B U| for rows B.

    Args:
        rows: B.
        matrix: U.
    """
    value, error = _product_and_error(rows, matrix)
    return down(value - above(error + (len(matrix) + 2) * SMALLEST_NORMAL, 4)).clamp(min=0.0)


def _product_and_error(
    rows: Float64[Tensor, "*batch m"], matrix: Float64[Tensor, "m a"]
) -> tuple[Float64[Tensor, "*batch a"], Float64[Tensor, "*batch a"]]:
    """|B U| as floating point finds it, and what its roundings lose, but for underflow."""
    size = rows.abs() @ matrix.abs()
    return (rows @ matrix).abs(), gamma(4 * (len(matrix) + 2)) * size
