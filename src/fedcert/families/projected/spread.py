"""How far the input region moves a layer's pre-activations from their values at the centre.

Δ_l(x) = a_l(x) − a_l(x_c) = (M_l + W̃_l) v(x), where v(x) = h(x) − h(x_c) = θ∘Δ_{l−1}(x) with θ = 1 for a
neuron that is active on the whole region, 0 for an inactive one, and some θ in [0, 1] for any other.
Backwards from rows B, B·Δ_l is linear in x − x_c up to |A_k| D_k / 2 for a neuron of unknown θ, since θΔ
differs from Δ/2 by at most D_k / 2, and up to the noise of every layer, sup_x |B W̃ v(x)|.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.families.projected.layers import NoisyLayer
from fedcert.numerics.enclosure import Enclosure
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, gamma, up

MEAN_OF_A_NORMAL = math.nextafter(math.sqrt(2 / math.pi), 1.0)  # above √(2/π) = E |Z|


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


@dataclass(frozen=True)
class Activations:
    """v(x) = θ∘Δ(x) + e(x) with |v| ≤ δ and |e| ≤ ρ: how the region moves what a layer reads.

    Attributes:
        delta: δ.
        theta: θ.
        rest: ρ.
        layer: the layer before, whose pre-activations Δ moves.
        inputs: bounds of what moves that layer's inputs.
    """

    delta: Float64[Tensor, "P k"]
    theta: Float64[Tensor, "P k"]
    rest: Float64[Tensor, "P k"]
    layer: NoisyLayer
    inputs: Float64[Tensor, "P p"]


def concentration(u: Float64[Tensor, "*P"]) -> Enclosure:
    """e^(−u²/2): at least the failure probability of one event of concentration."""
    return (Enclosure.exactly(u).square() / -2).exp()


def concentration_width(failure: Float64[Tensor, "*P"]) -> Float64[Tensor, "*P"]:
    """The u with e^(−u²/2) about equal to a failure probability; any u is sound."""
    return (-2 * failure.log()).sqrt()


def noise_over_inputs(
    delta: Float64[Tensor, "P k"], deviation: Float64[Tensor, "P R k"], u: Float64[Tensor, "P"]
) -> Float64[Tensor, "P R"]:
    """A bound of sup |N·v| over |v| ≤ δ, that is Σ_k δ_k |N_k|, for independent N_k of deviation r_k.

    Σ_k δ_k |N_k| is a Lipschitz function of standard normals with constant √Σ δ_k² r_k², so that

        Σ_k δ_k |N_k| ≤ √(2/π) Σ_k δ_k r_k + u √Σ_k δ_k² r_k²    but for e^(−u²/2).
    """
    widths = deviation * delta.unsqueeze(-2)
    terms = widths.shape[-1] + 4
    return above(MEAN_OF_A_NORMAL * widths.sum(-1) + u.unsqueeze(-1) * _norm(widths), terms)


def noise_over(
    moved: Activations, deviation: Float64[Tensor, "P R k"], u: Float64[Tensor, "P"]
) -> Float64[Tensor, "P R"]:
    """A bound of sup_x |N·v(x)| for N_k independent of each other and of the layers before, of deviation r_k.

    Given the layers before, the supremum is a Lipschitz function of N/r with constant sup_x ‖r∘v(x)‖ ≤ ‖r∘δ‖,
    so it exceeds its conditional mean by more than u ‖r∘δ‖ with probability e^(−u²/2) at most. That mean is
    at most √(2/π) Σ_k δ_k r_k; and, N·v being (N∘θ) W v' + N·e for the inputs v' of the layer before, at most

        √(2/π) [Σ_j δ'_j √Σ_k r_k² θ_k² W_kj² + Σ_k ρ_k r_k].

    Its first sum is a function of the weights W = M + S∘Z with a Lipschitz constant of
    √Σ_j δ'_j² max_k (r_k θ_k S_kj)² and a mean of at most Σ_j δ'_j √Σ_k r_k² θ_k² (M_kj² + S_kj²).
    These are two events, each of which fails with probability `concentration(u)` at most.

    Args:
        moved: v.
        deviation: r.
        u: the width of the events.
    """
    layer, terms = moved.layer, deviation.shape[-1] + 8
    widths = deviation * moved.delta.unsqueeze(-2)
    reading = deviation * moved.theta.unsqueeze(-2)
    weight = up(layer.weight.abs() + layer.weight_error)
    square = weight * weight + layer.weight_scale * layer.weight_scale
    variance = (up(reading * reading) @ square).add_(terms * SMALLEST_NORMAL)
    columns = variance.sqrt_() @ moved.inputs.unsqueeze(-1)
    largest = reading.amax(-1) * _norm(moved.inputs * layer.weight_scale.amax(0)).unsqueeze(-1)
    linear = columns.squeeze(-1) + u.unsqueeze(-1) * largest + (deviation * moved.rest.unsqueeze(-2)).sum(-1)
    mean = MEAN_OF_A_NORMAL * torch.minimum(widths.sum(-1), linear)
    return above(mean + u.unsqueeze(-1) * _norm(widths), sum(layer.weight.shape) + 16)


def _norm(x: Float64[Tensor, "*batch k"]) -> Float64[Tensor, "*batch"]:
    """An upper bound of ‖x‖."""
    return up(above((x * x).sum(-1), x.shape[-1] + 2).sqrt())


def movement(
    rows: Float64[Tensor, "P R m"],
    layers: Sequence[NoisyLayer],
    radius: Float64[Tensor, "P p"],
    spreads: Sequence[Spread],
    u: Float64[Tensor, "P"],
) -> Float64[Tensor, "P R"]:
    """Bounds of |B·(a_l(x) − a_l(x_c))| over the region, for rows B of the last of the layers.

    Each row relies on 2 l − 1 events, each of which fails with probability `concentration(u)` at most.

    Args:
        rows: B.
        layers: the layers up to l.
        radius: δ_0, of the region around its centre.
        spreads: those of the hidden layers before l.
        u: the width of the events.
    """
    total = torch.zeros_like(rows[..., 0])
    for depth in reversed(range(1, len(layers))):
        layer, before = layers[depth], spreads[depth - 1]
        deviation, _ = layer.deviations(rows)
        rows, error = layer.product(rows)
        inexact = (error * before.activations.unsqueeze(-2)).sum(-1)
        unknown = (rows.abs() * _unknown(before).unsqueeze(-2)).sum(-1)
        noise = noise_over(read(depth, layers, radius, spreads), deviation, u)
        total = total + above(noise + inexact + unknown, deviation.shape[-1] + 8)
        rows = rows * before.slope.unsqueeze(-2)
    return above(total + movement_of_inputs(rows, layers[0], radius, u), 2 * len(layers) + 8)


def movement_of_inputs(
    rows: Float64[Tensor, "P R k"],
    layer: NoisyLayer,
    radius: Float64[Tensor, "P p"],
    u: Float64[Tensor, "P"],
) -> Float64[Tensor, "P R"]:
    """A bound of |B W (x − x_c)| over the region, for rows B of the first layer; one event a row.

    It is Σ_k δ_k |B M|_k and what `noise_over_inputs` says of deviations √Σ_j B_j² S_jk². Sums over inputs
    come first where they can: only B M and the deviations are needed input by input. What an underflow may
    hide of either is added before.
    """
    rows = rows[:1] if rows.stride(0) == 0 else rows  # the same for all properties
    size, square, scales = rows.abs(), up(rows * rows), layer.weight_scale * layer.weight_scale
    outputs, inputs = layer.weight.shape
    hidden = up(gamma(2 * (outputs + 2)) * layer.weight.abs() + layer.weight_error)
    certain = _over_inputs((rows @ layer.weight).abs_().add_(outputs * SMALLEST_NORMAL), radius)
    underflow = inputs * SMALLEST_NORMAL
    inexact = _over_inputs(size, (radius @ hidden.mT).add_(underflow))
    mean = _over_inputs((square @ scales).add_(outputs * SMALLEST_NORMAL).sqrt_(), radius)
    widths = (up(radius * radius) @ scales.mT).add_(underflow)
    variance = above(_over_inputs(square, widths), outputs + inputs + 8)
    noise = MEAN_OF_A_NORMAL * mean + u.unsqueeze(-1) * up(variance.sqrt())
    return above(certain + inexact + noise, outputs + inputs + 32)


def _over_inputs(
    values: Float64[Tensor, "P_or_1 R k"], inputs: Float64[Tensor, "P k"]
) -> Float64[Tensor, "P R"]:
    """Σ_k v_k δ_k."""
    return torch.einsum("prk,pk->pr", values, inputs)


def read(
    depth: int, layers: Sequence[NoisyLayer], radius: Float64[Tensor, "P p"], spreads: Sequence[Spread]
) -> Activations:
    """How the region moves what layers[depth] reads, from its values at the centre."""
    before = spreads[depth - 1]
    inputs = radius if depth == 1 else spreads[depth - 2].activations
    return Activations(before.activations, before.slope, _unknown(before), layers[depth - 1], inputs)


def _unknown(spread: Spread) -> Float64[Tensor, "P m"]:
    """D/2 for the neurons of unknown θ: how far θΔ is from Δ/2."""
    return torch.where(spread.slope == 0.5, spread.radius / 2, 0.0)


def rounded_centre(
    lower: Float64[Tensor, "P p"], upper: Float64[Tensor, "P p"]
) -> tuple[Float64[Tensor, "P p"], Float64[Tensor, "P p"]]:
    """A point of the region near its middle, and a radius around it that covers the region."""
    centre = torch.minimum(torch.maximum(lower + (upper - lower) / 2, lower), upper)
    return centre, up(torch.maximum(upper - centre, centre - lower))
