"""Backward linear bounds of a random network over a whole input region.

Let h_k = relu(μ_k + t_k Z_k) be the activations of the first hidden layer at the centre x_c. From rows B of
layer l back to that layer, for all x in the region X,

    B·a_l(x) ≥ g + Σ_k (A_k + N_k) h'_k + N_b + Σ_{l' ≥ 3} N_{l'},    h'_k = relu(μ'_k + t_k Z_k),

with N_k and N_b independent normals (the noise of layer 2) and
N_{l'} = B_{l'}·(W̃_{l'} h_{l'−1}(x_c) + b̃_{l'}), which is Gaussian given the layers before, with a deviation
that is bounded on events of those layers. Lines replace the ReLUs of the layers beyond the first; the law of
the first layer's activations is known, so no line is needed there. What x moves is kept linear in x as far
as θ_kΔ_k. For |Δ| ≤ D, where A_k < 0 and θ is any number of [0, 1],

    relu(a + Δ) − θΔ ≤ θD + relu(a + (1 − 2θ) D),

and where A_k > 0, relu(a + Δ) − Δ ≥ relu(a + D) − D (θ = 1) or relu(a + Δ) ≥ relu(a − D) (θ = 0). So μ'_k is
μ_k + c_k with |c_k| ≤ D_k, and h_k(x) is within D_k + |c_k| of h'_k; a neuron that keeps its sign on all of X
needs no such change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.families.projected.excess import Excess
from fedcert.families.projected.rectified import Rectified
from fedcert.families.projected.relaxation import Lines, through_relu
from fedcert.families.projected.spread import Spread, read
from fedcert.laws.affine import MAX_NORMAL, UNDERFLOW, IndependentAffine, IndependentRowNoise
from fedcert.laws.independent_noise import norm_up
from fedcert.numerics.rounding import above, down, gamma, rounding_error, up


@dataclass(frozen=True)
class Hidden:
    """What is known of a hidden layer beyond the first, on its events.

    Attributes:
        lines: lines below and above the ReLUs, from bounds of the pre-activations over the region.
        mean: upper bounds of the conditional means M h + m at the centre, given the layers before.
        deviation: upper bounds of the conditional deviations at the centre.
        ceiling: crude bounds of the activations.
        rate: the λ that bounded each neuron from below, then from above.
        mean_rate: the λ that bounded the means.
        excess: how far the neurons are beyond thresholds, on average.
    """

    lines: Lines
    mean: Float64[Tensor, "P m"]
    deviation: Float64[Tensor, "P m"]
    ceiling: Float64[Tensor, "P m"]
    rate: Float64[Tensor, "P 2*m"]
    mean_rate: Float64[Tensor, "P m"]
    excess: Excess


@dataclass(frozen=True)
class Known:
    """What is known of the layers so far.

    Attributes:
        first: the activations of the first layer at the centre.
        radius: δ_0, the radius of the region around the centre.
        spreads: how far the region moves each hidden layer so far.
        hidden: the hidden layers so far, from the second.
        moving: u of the events that bound what the region moves, for the next layer's rows.
        deviating: u of the events that bound a conditional deviation, for the next layer's rows.
    """

    first: Rectified
    radius: Float64[Tensor, "P p"]
    spreads: tuple[Spread, ...]
    hidden: tuple[Hidden, ...]
    moving: Float64[Tensor, "P"]
    deviating: Float64[Tensor, "P"]

    def at_centre(self, layers: int) -> "Known":
        """What is known of the first layers at the centre alone, where nothing moves."""
        still = tuple(replace(own, radius=torch.zeros_like(own.radius)) for own in self.spreads[:layers])
        return replace(
            self, radius=torch.zeros_like(self.radius), spreads=still, hidden=self.hidden[: layers - 1]
        )


@dataclass(frozen=True)
class LinearForm:
    """g + Σ_k (A_k + N_k) relu(μ'_k + t_k Z_k) + N_b + Σ_l' N_l': a lower bound of rows over the region.

    All numbers are exact: rounding, and the distance from the exact law, are charged to g.

    Attributes:
        constant: g.
        coefficient: A.
        mean: μ'.
        noise: deviations of the N_k.
        bias_noise: deviation of N_b.
        later: bounds of the conditional deviations of the N_l', from layer l down to layer 3.
        scale: t > 0.
        noises: what the rows see of the layers of `later`.
        excess: E T for rows whose lines may be exceeded, a lower bound but for T; None where no line may.
    """

    constant: Float64[Tensor, "P R"]
    coefficient: Float64[Tensor, "P R k"]
    mean: Float64[Tensor, "P R k"]
    noise: Float64[Tensor, "P R k"]
    bias_noise: Float64[Tensor, "P R"]
    later: tuple[Float64[Tensor, "P R"], ...]
    scale: Float64[Tensor, "P k"]
    noises: tuple[IndependentRowNoise, ...] = ()
    excess: Float64[Tensor, "P R"] | None = None

    def shifted(self, by: Float64[Tensor, "P R"]) -> "LinearForm":
        """The form plus a number, rounded down."""
        return replace(self, constant=down(self.constant + by))

    def rows(self, chosen: slice) -> "LinearForm":
        """Some of the rows."""
        return LinearForm(
            self.constant[:, chosen],
            self.coefficient[:, chosen],
            self.mean[:, chosen],
            self.noise[:, chosen],
            self.bias_noise[:, chosen],
            tuple(own[:, chosen] for own in self.later),
            self.scale,
            excess=None if self.excess is None else self.excess[:, chosen],
        )

    def chosen(self, rows: Bool[Tensor, "P R"]) -> "LinearForm":
        """Some of the rows, each as the one row of a problem of its own.

        Args:
            rows: which ones.
        """

        def one(own: Tensor) -> Tensor:
            return own[rows].unsqueeze(1)

        return LinearForm(
            one(self.constant),
            one(self.coefficient),
            one(self.mean),
            one(self.noise),
            one(self.bias_noise),
            tuple(one(own) for own in self.later),
            self.scale[rows.nonzero(as_tuple=True)[0]],
            excess=None if self.excess is None else one(self.excess),
        )

    def without_own_noise(self) -> "LinearForm":
        """The form without the noise of the layer that its rows belong to."""
        if self.later:
            return replace(self, later=self.later[1:], noises=self.noises[1:])
        silent = torch.zeros_like
        return replace(self, noise=silent(self.noise), bias_noise=silent(self.bias_noise))


def linear_form(
    rows: Float64[Tensor, "P R m"],
    layers: Sequence[IndependentAffine],
    known: Known,
    reach: Float64[Tensor, "P R"] | None = None,
) -> LinearForm:
    """Lower bounds of B·a_l(x) over the region, for rows B of the last of the layers, on the events.

    Beyond those of `known`, each row relies on at most 3 l − 2 events of movement and, in each layer beyond
    the second, on one of a conditional deviation, less those of layers whose weights are known.

    Args:
        rows: B.
        layers: the layers up to l, at least two.
        known: what is known of the layers before l.
        reach: how far the lines' ranges reach, which may be exceeded; None for ranges that hold.
    """
    constant = error = magnitude = excess = torch.zeros_like(rows[..., 0])
    later: list[Tensor] = []
    noises: list[IndependentRowNoise] = []
    for depth in reversed(range(1, len(layers))):
        layer = layers[depth]
        size = layer.outputs + layer.inputs + 8
        offset, offset_error = layer.offset(rows)
        noise = layer.noise(rows)
        coefficient, coefficient_error = layer.product(rows)
        constant, magnitude, error = constant + offset, magnitude + offset.abs(), error + offset_error
        if depth == 1:
            break
        lost = noise.over_moved(read(depth, layers, known.radius, known.spreads), known.moving)
        constant, magnitude = constant - lost, magnitude + lost
        before = known.hidden[depth - 2]
        later.append(noise.at_rectified(before.mean, before.deviation, known.deviating))
        noises.append(noise)
        highest = None
        if reach is not None:
            highest, average = before.excess.lines(before.lines, reach)
            excess = above(excess + (coefficient.clamp(max=0.0).abs() * average).sum(-1), size)
        rows, drop, charge = through_relu(
            coefficient, coefficient_error, before.lines, before.ceiling, highest
        )
        constant, magnitude, error = constant + drop, magnitude + drop.abs(), error + charge

    first, spread = known.first, known.spreads[0]
    inexact = coefficient_error + MAX_NORMAL * layer.looseness(noise.weight)
    farthest = (first.ceiling + spread.radius).unsqueeze(-2)
    shaken = (coefficient.abs() + MAX_NORMAL * noise.weight) * first.error.unsqueeze(-2)
    error = error + (inexact * farthest + shaken).sum(-1) + MAX_NORMAL * layer.looseness(noise.bias)
    mean, offsets, slopes = _moved_means(coefficient, first, spread)
    drop = (coefficient.abs() * offsets).sum(-1)
    error = error + rounding_error(size, drop)
    lost = _moved(coefficient * slopes, noise, mean, layers[0], known)
    constant, magnitude = constant - drop - lost, magnitude + drop + lost
    charge = error + rounding_error(8 * len(layers) + 8, magnitude)
    constant = down(constant - above(charge, 64 * len(layers) + 4 * size))
    parts = (constant, coefficient, mean, noise.weight, noise.bias, tuple(later), first.deviation)
    form = LinearForm(*parts, tuple(noises), None if reach is None else excess)
    return _folded(form) if (first.deviation == 0).any() else form


def _folded(form: LinearForm) -> LinearForm:
    """The form with its neurons of t = 0 taken into g and N_b: h'_k = relu(μ'_k) is a number.

    So A_k h'_k joins g and N_k h'_k joins N_b, whose deviation becomes √(r_b² + Σ r_k² h'_k²). That is
    rounded up, and what it is too large by is charged to g for normals up to `MAX_NORMAL`.
    """
    fixed = form.scale == 0
    h = torch.where(fixed.unsqueeze(-2), form.mean.clamp(min=0.0), 0.0)
    known, noise, terms = form.coefficient * h, form.noise * h, h.shape[-1] + 8
    bias_noise = up(above((noise * noise).sum(-1) + form.bias_noise * form.bias_noise, terms).sqrt())
    loose = gamma(8 * terms) * bias_noise + UNDERFLOW
    charge = above(rounding_error(terms, known.abs().sum(-1)) + MAX_NORMAL * loose, 8)
    return replace(
        form,
        constant=down(down(form.constant + known.sum(-1)) - charge),
        coefficient=torch.where(fixed.unsqueeze(-2), 0.0, form.coefficient),
        mean=torch.where(fixed.unsqueeze(-2), 0.0, form.mean),
        noise=torch.where(fixed.unsqueeze(-2), 0.0, form.noise),
        bias_noise=bias_noise,
        scale=torch.where(fixed, 1.0, form.scale),  # of a neuron that no longer counts
    )


def _moved_means(
    coefficient: Float64[Tensor, "P R k"], first: Rectified, spread: Spread
) -> tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"], Float64[Tensor, "P R k"]]:
    """μ', the additional loss, which is θD but for A > 0 and θ = 0, and θ.

    θ is that of the chord of relu over μ ± D where A < 0, 0 or 1 by the sign of μ where A > 0.
    """
    mean, radius = first.mean.unsqueeze(-2), spread.radius.unsqueeze(-2)
    unknown, falling = (spread.slope == 0.5).unsqueeze(-2), coefficient < 0
    chord = ((mean + radius) / (2 * radius)).nan_to_num(nan=1.0).clamp(0.0, 1.0)
    theta = torch.where(unknown & falling, chord, (mean > 0).to(mean.dtype))
    above_relu = up(mean + up(up(1 - 2 * theta) * radius))
    below_relu = torch.where(mean > 0, up(mean + radius), down(mean - radius))
    moved = torch.where(unknown, torch.where(falling, above_relu, below_relu), mean)
    reach = torch.where(falling, up(theta * radius), torch.where(mean > 0, up((moved - mean).abs()), 0.0))
    return moved, torch.where(unknown, reach, 0.0), theta


def _moved(
    rows: Float64[Tensor, "P R k"],
    noise: IndependentRowNoise,
    mean: Float64[Tensor, "P R k"],
    layer: IndependentAffine,
    known: Known,
) -> Float64[Tensor, "P R"]:
    """A bound of what the region moves of B·Δ_1(x) + N·h_1(x), for the noise N of layer 2, from N·h' on.

    Given the first layer it is a convex Lipschitz function of N/r with constant ‖r∘δ‖, |h_1(x) − h'| ≤ δ, and
    its mean over N is at most that of sup_x (B + N∘L)·Δ_1(x) (Sudakov, Fernique). One event for either step.
    """
    spread = known.spreads[0]
    changed = up((mean - known.first.mean.unsqueeze(-2)).abs())
    delta = up(spread.activations.unsqueeze(-2) + changed)
    steepness = (spread.slope > 0).to(rows.dtype).unsqueeze(-2)
    average = layer.movement(rows, known.radius, known.moving, noise.weight * steepness)
    return above(average + known.moving.unsqueeze(-1) * norm_up(noise.weight * delta), 8)
