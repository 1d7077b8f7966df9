"""h = relu(μ + t Z), the law of an activation whose pre-activation is Gaussian."""

from dataclasses import dataclass

from jaxtyping import Float64
from torch import Tensor

from fedcert.laws.affine import MAX_NORMAL, RandomAffine
from fedcert.numerics.rounding import above


@dataclass(frozen=True)
class Rectified:
    """Independent h_k = relu(μ_k + t_k Z_k), for each property.

    `mean` and `deviation` are exact numbers: they define these h. The activations of the exact law are
    within `error` of them, for the same Z, unless one of the |Z| exceeds `MAX_NORMAL`.

    Attributes:
        mean: μ.
        deviation: t; 0 for a neuron that is a number.
        error: a bound of |h* − h| for the exact law's activations h*.
    """

    mean: Float64[Tensor, "P k"]
    deviation: Float64[Tensor, "P k"]
    error: Float64[Tensor, "P k"]

    @property
    def ceiling(self) -> Float64[Tensor, "P k"]:
        """A bound of h and h* while |Z| ≤ `MAX_NORMAL`."""
        return above(self.mean.clamp(min=0.0) + MAX_NORMAL * self.deviation + self.error, 4)


def first_activations(layer: RandomAffine, x: Float64[Tensor, "P p"]) -> Rectified:
    """The activations of the first layer at a point x; its rows are independent."""
    return Rectified(*layer.at(x))
