"""The noise of a layer whose weights and biases are independent normals, as rows see it."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.affine import MovedInputs
from fedcert.numerics.rectified import second_moment
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, rounding_error, up

MEAN_OF_A_NORMAL = math.nextafter(math.sqrt(2 / math.pi), 1.0)  # above √(2/π) = E |Z|


@dataclass(frozen=True)
class IndependentNoise:
    """Σ_k N_k h_k + N_b for rows B of a layer: N = B W̃ and N_b = B·b̃, independent normals.

    Attributes:
        weight: upper bounds r of the deviations of the N_k.
        bias: upper bounds r_b of the deviation of N_b.
    """

    weight: Float64[Tensor, "*batch k"]
    bias: Float64[Tensor, "*batch"]

    def at(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """√(Σ_k r_k² h_k² + r_b²)."""
        at = self.weight * h.unsqueeze(-2)
        square = (at * at).sum(-1) + self.bias * self.bias
        return up(above(square, self.weight.shape[-1] + 4).sqrt())

    def at_least(self, h: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """0: the deviations are bounded from above alone."""
        return torch.zeros_like(self.bias)

    def at_rectified(
        self, mean: Float64[Tensor, "P k"], deviation: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]
    ) -> Float64[Tensor, "P R"]:
        """Bounds of √(Σ_k r_k² h_k² + r_b²) for random inputs h_k = relu(μ_k + t_k Z_k), Z_k independent.

        The root is a Lipschitz function of Z with constant max_k r_k t_k, and its mean is at most the root of
        its mean square, so that

            √(Σ r_k² h_k² + r_b²) ≤ √(Σ r_k² E h_k² + r_b²) + u max_k r_k t_k    but for Q(u).

        Both terms grow with μ and t, so upper bounds of these do.

        Args:
            mean: upper bounds of μ.
            deviation: upper bounds of t.
            u: the width of the event.
        """
        moment = second_moment(mean, deviation).unsqueeze(-2)
        terms = self.weight.shape[-1] + 6
        square = above((self.weight * self.weight * moment).sum(-1) + self.bias * self.bias, terms)
        lipschitz = (self.weight * deviation.unsqueeze(-2)).amax(-1)
        return above(square.sqrt() + u.unsqueeze(-1) * lipschitz, 6)

    def within(self, lower: Float64[Tensor, "P k"], upper: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """Those at the largest inputs."""
        return self.at(torch.maximum(upper, -lower))

    def along(self, directions: Float64[Tensor, "P k J"]) -> Float64[Tensor, "P R J"]:
        """√Σ_k r_k² t_k², for each column t; squares are rounded up, since others multiply them."""
        variance = up(self.weight * self.weight) @ up(directions * directions)
        return up(above(variance, self.weight.shape[-1] + 4).sqrt())

    def covariances(
        self, h: Float64[Tensor, "P k"]
    ) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"]]:
        """The products r_k² h_k, and what their roundings lose."""
        found = self.weight * self.weight * h.unsqueeze(-2)
        lost = rounding_error(4, found.abs()) + SMALLEST_NORMAL * up(h.abs()).unsqueeze(-2)
        return found, up(lost)

    def steepest(self, delta: Float64[Tensor, "P k"]) -> Float64[Tensor, "P R"]:
        """‖r∘δ‖.

        Args:
            delta: δ.
        """
        return norm_up(self.weight * delta.unsqueeze(-2))

    def over(self, delta: Float64[Tensor, "P k"], u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """A bound of sup |N·v| over |v| ≤ δ, that is Σ_k δ_k |N_k|.

        It is a Lipschitz function of standard normals with constant √Σ δ_k² r_k², so that

            Σ_k δ_k |N_k| ≤ √(2/π) Σ_k δ_k r_k + u √Σ_k δ_k² r_k²    but for Q(u).

        Args:
            delta: δ.
            u: the width of the event.
        """
        widths = self.weight * delta.unsqueeze(-2)
        terms = widths.shape[-1] + 4
        return above(MEAN_OF_A_NORMAL * widths.sum(-1) + u.unsqueeze(-1) * norm_up(widths), terms)

    def over_moved(self, moved: MovedInputs, u: Float64[Tensor, "P"]) -> Float64[Tensor, "P R"]:
        """A bound of sup_x N·v(x) and of sup_x −N·v(x), N independent of the layers before.

        Given the layers before, the supremum is a convex Lipschitz function of N/r with constant
        sup_x ‖r∘v(x)‖ ≤ ‖r∘δ‖. Its conditional mean is at most √(2/π) Σ_k δ_k r_k; and, since v moves by no
        more than L∘(W v'), at most that of N∘L and W v' in the place of N and v (Sudakov and Fernique):

            E sup_x Σ_k N_k L_k (W v'(x))_k ≤ √(2/π) Σ_j δ'_j √Σ_k r_k² L_k² W_kj²,

        which the layer before bounds (`spread_inputs`). That is one event, and each side is another.

        Args:
            moved: v.
            u: the width of the events.
        """
        widths = self.weight * moved.delta.unsqueeze(-2)
        before = moved.layer.spread_inputs(self.weight * moved.steepness.unsqueeze(-2), moved.inputs, u)
        mean = MEAN_OF_A_NORMAL * torch.minimum(widths.sum(-1), before)
        terms = moved.layer.outputs + moved.layer.inputs + 16
        return above(mean + u.unsqueeze(-1) * norm_up(widths), terms)


def norm_up(x: Float64[Tensor, "*batch k"]) -> Float64[Tensor, "*batch"]:
    """An upper bound of ‖x‖."""
    return up(above((x * x).sum(-1), x.shape[-1] + 2).sqrt())
