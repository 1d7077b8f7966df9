"""How far the input region moves a layer's pre-activations from their values at the centre.

Δ_l(x) = a_l(x) − a_l(x_c) = (M_l + W̃_l) v(x), where v(x) = h(x) − h(x_c) = θ∘Δ_{l−1}(x) with θ = 1 for a
neuron that is active on the whole region, 0 for an inactive one, and some θ in [0, 1] for any other.
Backwards from rows B, B·Δ_l is linear in x − x_c up to |A_k| D_k / 2 for each neuron of unknown θ, since θΔ
differs from Δ/2 by at most D_k / 2, and up to the noise of every layer, sup_x |B W̃ v(x)|.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.laws.affine import MovedInputs, RandomAffine
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.gaussian import tail
from fedcert.numerics.rounding import above, up


@dataclass(frozen=True)
class Spread:
    """The movement of one hidden layer over the region, on its events.

    Attributes:
        radius: D: bounds of |a_j(x) − a_j(x_c)|.
        slope: θ: 1 for neurons that stay active, 0 for those that stay inactive, ½ for all others.
    """

    radius: Float64[Tensor, "P m"]
    slope: Float64[Tensor, "P m"]

    @classmethod
    def of(
        cls, radius: Float64[Tensor, "P m"], active: Bool[Tensor, "P m"], inactive: Bool[Tensor, "P m"]
    ) -> "Spread":
        """The movement of a layer whose neurons are active, inactive or neither on the whole region."""
        return cls(radius, torch.where(active, 1.0, torch.where(inactive, 0.0, 0.5)).to(radius.dtype))

    @property
    def activations(self) -> Float64[Tensor, "P m"]:
        """δ: bounds of |h_j(x) − h_j(x_c)|, for h the layer's activations."""
        return torch.where(self.slope == 0, 0.0, self.radius)


def concentration(u: Float64[Tensor, "*P"]) -> Enclosure:
    """Q(u), u ≥ 0: at least the failure probability of one event of concentration."""
    return tail(Enclosure.exactly(u))


def concentration_width(failure: Float64[Tensor, "*P"]) -> Float64[Tensor, "*P"]:
    """The u with e^(−u²/2), an upper bound of Q(u), near a failure probability; any u ≥ 0 is sound."""
    return (-2 * failure.log()).sqrt()


def movement_events(layers: Sequence[RandomAffine]) -> int:
    """The number of events that bound the movement of one row of the last of these layers.

    One for the first layer and three for each other one (the noise on either side, and its mean); none for a
    layer whose weights are known.
    """
    first, *others = (not layer.fixed_weights for layer in layers)
    return first + 3 * sum(others)


def random_weights(layers: Sequence[RandomAffine]) -> int:
    """The number of layers whose weights are random: the deviation of each one's noise takes an event."""
    return sum(not layer.fixed_weights for layer in layers)


def all_fixed(layers: Sequence[RandomAffine]) -> bool:
    """Whether nothing in these layers is random: whatever is said of them has probability 0 or 1."""
    return all(layer.fixed for layer in layers)


def movement(
    rows: Float64[Tensor, "P R m"],
    layers: Sequence[RandomAffine],
    radius: Float64[Tensor, "P p"],
    spreads: Sequence[Spread],
    u: Float64[Tensor, "P"],
) -> Float64[Tensor, "P R"]:
    """Bounds of |B·(a_l(x) − a_l(x_c))| over the region, for rows B of the last of the layers.

    Each row relies on `movement_events`, each of which fails with probability at most `concentration(u)`.

    Args:
        rows: B.
        layers: the layers up to l.
        radius: δ_0, the radius of the region around its centre.
        spreads: the movements of the hidden layers before l.
        u: the width of the events.
    """
    total = torch.zeros_like(rows[..., 0])
    for depth in reversed(range(1, len(layers))):
        layer, before = layers[depth], spreads[depth - 1]
        noise = layer.noise(rows)
        rows, error = layer.product(rows)
        inexact = (error * before.activations.unsqueeze(-2)).sum(-1)
        unknown = (rows.abs() * _unknown(before).unsqueeze(-2)).sum(-1)
        shaken = noise.over_moved(read(depth, layers, radius, spreads), u)
        total = total + above(shaken + inexact + unknown, layer.inputs + 8)
        rows = rows * before.slope.unsqueeze(-2)
    return above(total + layers[0].movement(rows, radius, u), 2 * len(layers) + 8)


def read(
    depth: int, layers: Sequence[RandomAffine], radius: Float64[Tensor, "P p"], spreads: Sequence[Spread]
) -> MovedInputs:
    """How the region moves what layers[depth] reads, from its values at the centre."""
    before = spreads[depth - 1]
    inputs = radius if depth == 1 else spreads[depth - 2].activations
    steepness = (before.slope > 0).to(before.slope.dtype)
    return MovedInputs(before.activations, steepness, layers[depth - 1], inputs)


def _unknown(spread: Spread) -> Float64[Tensor, "P m"]:
    """D/2 for the neurons of unknown θ: how far θΔ is from Δ/2."""
    return torch.where(spread.slope == 0.5, spread.radius / 2, 0.0)


def rounded_centre(
    lower: Float64[Tensor, "P p"], upper: Float64[Tensor, "P p"]
) -> tuple[Float64[Tensor, "P p"], Float64[Tensor, "P p"]]:
    """A point of the region near its middle, and a radius around it that covers the region."""
    centre = torch.minimum(torch.maximum(lower + (upper - lower) / 2, lower), upper)
    return centre, up(torch.maximum(upper - centre, centre - lower))
