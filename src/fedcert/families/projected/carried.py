"""A random last layer behind fixed ones: what its noise adds over a region (docs/soundness.md, 15.10).

    C f(x) + d = A·h(x) + N·h(x) + N_b + …,    N = C W̃ and N_b = C·b̃ jointly normal,

with features h(x) in which nothing is random. The least margin over the region is a concave function of the
normals, so its tail is that of one normal: the mean of what the noise takes away is subtracted, and the
deviation is the largest one on the region. That mean is taken feature by feature, or at the inputs, to which
the features are carried through parallel lines.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.families.projected.references import Ranges, Static
from fedcert.families.projected.relaxation import Lines, through_relu
from fedcert.families.projected.tails import Limit
from fedcert.families.projected.view import View
from fedcert.laws.affine import CarriedNoise
from fedcert.laws.independent_noise import MEAN_OF_A_NORMAL
from fedcert.model.properties import Properties
from fedcert.numerics.folded import ROUNDINGS, folded_mean
from fedcert.numerics.rounding import SMALLEST_NORMAL, above, down, rounding_error, up

MAX_FEATURES = 512
"""Noise of more features is not carried to the inputs: each feature is a row, which takes memory and time."""
WORTH_CARRYING = 2.0**-20
"""Deviations of a margin: what carrying has to gain, since a checker has to do it again."""

Passed = tuple[Float64[Tensor, "P R k"], Float64[Tensor, "P R"], Float64[Tensor, "P R"]]
"""Rows B, a constant c and an error e, for coefficients A of activations: A*·h ≈ B·a + c within e."""
Through = Callable[[Float64[Tensor, "P R k"], Float64[Tensor, "P R k"], Ranges], Passed]


@dataclass(frozen=True)
class Carried:
    """Rows of the features as functions of the inputs: about c + T (x − x_c) on the region.

    Attributes:
        constant: c.
        slopes: T.
        error: how far that is from what the lines say, at most.
        passed: the coefficients of each hidden layer's activations, from the last one down.
    """

    constant: Float64[Tensor, "P R"]
    slopes: Float64[Tensor, "P R p"]
    error: Float64[Tensor, "P R"]
    passed: Sequence[Float64[Tensor, "P R _"]]


def to_inputs(
    view: View, coefficient: Float64[Tensor, "P R k"], error: Float64[Tensor, "P R k"], through: Through
) -> Carried:
    """Carry rows of the features back through the fixed layers.

    Args:
        view: fixed layers, all of them known, and one behind them.
        coefficient: A, of the features.
        error: a bound of |A* − A| for the exact coefficients A*.
        through: the lines that take the place of a hidden layer's ReLUs.
    """
    constant = charge = magnitude = torch.zeros_like(coefficient[..., 0])
    passed = list[Tensor]()
    for layer, ranges in zip(reversed(view.layers[:-1]), reversed(view.known), strict=True):
        passed.append(coefficient)
        rows, drop, lost = through(coefficient, error, ranges)
        offset, offset_error = layer.offset(rows)
        coefficient, error = layer.product(rows)
        constant = constant + drop + offset
        magnitude = magnitude + drop.abs() + offset.abs()
        charge = charge + lost + offset_error
    centre, terms = view.centre.unsqueeze(-2), view.centre.shape[-1] + 4
    value, size = (coefficient * centre).sum(-1), (coefficient * centre).abs().sum(-1)
    inexact = (error * up(centre.abs() + view.radius.unsqueeze(-2))).sum(-1)
    depth = 4 * len(passed) + 4
    charge = charge + inexact + rounding_error(terms, size) + rounding_error(depth, magnitude + size)
    return Carried(constant + value, coefficient, above(charge, terms + 2 * depth), passed)


def from_below(
    coefficient: Float64[Tensor, "P R k"], error: Float64[Tensor, "P R k"], ranges: Ranges
) -> Passed:
    """Lines by the signs of the coefficients: A*·h ≥ B·a + c − e."""
    return through_relu(coefficient, error, ranges.lines, ranges.ceiling)


def in_the_middle(
    coefficient: Float64[Tensor, "P R k"], error: Float64[Tensor, "P R k"], ranges: Ranges
) -> Passed:
    """The line halfway between slope·a and slope·a + height, which enclose relu(a): A*·h = B·a + c + A·w.

    |w| ≤ height/2 is what `Carried.passed` is kept for; the equality holds within e.
    """
    half = half_gaps(ranges.lines)
    slope, height = ranges.lines.slope.unsqueeze(-2), half.unsqueeze(-2)
    size, terms = coefficient.abs(), slope.shape[-1] + 4
    rounded = (size * slope + SMALLEST_NORMAL) * ranges.lines.widest.unsqueeze(-2)  # it may underflow
    inexact = (error * ranges.ceiling.unsqueeze(-2)).sum(-1)
    charge = inexact + rounding_error(8, rounded.sum(-1)) + rounding_error(terms, (size * height).sum(-1))
    return coefficient * slope, (coefficient * height).sum(-1), above(charge, terms)


def half_gaps(lines: Lines) -> Float64[Tensor, "P k"]:
    """Half the distance between the parallel lines around each ReLU."""
    return torch.where(lines.height == 0, 0.0, up(lines.height / 2))


@dataclass(frozen=True)
class Head:
    """A random last layer, and what fixed layers before it say of a region.

    Attributes:
        view: the layers, all hidden ones of them known.
        properties: whose constraints are rows of the last layer.
    """

    view: View
    properties: Properties

    @cached_property
    def noise(self) -> CarriedNoise:
        """N and N_b of the constraints."""
        return self.noise_of(self.properties.C)

    def noise_of(self, rows: Float64[Tensor, "P R m"]) -> CarriedNoise:
        """N and N_b of rows of the last layer."""
        found = self.view.layers[-1].noise(rows)
        if not isinstance(found, CarriedNoise):
            raise TypeError(f"{type(found).__name__} says nothing of single directions")
        return found

    @cached_property
    def mean(self) -> Carried:
        """A·h(x) from below, A = C M."""
        coefficient, error = self.view.layers[-1].product(self.properties.C)
        return to_inputs(self.view, coefficient, error, from_below)

    @property
    def features(self) -> tuple[Float64[Tensor, "P k"], Float64[Tensor, "P k"]]:
        """C and ρ with |h_k(x) − c_k| ≤ ρ_k on the region."""
        if not self.view.known:
            return self.view.centre, self.view.radius
        return Static().middle(self.view.known[-1])

    def tails(self) -> tuple[Float64[Tensor, "P R"], Bool[Tensor, "P R"]]:
        """Bounds of the probability that a constraint is violated, and whether its noise was carried."""
        deviation, apart, at_inputs = self.largest_deviation(), self.taken_apart(), self.taken_at_the_inputs()
        carried = at_inputs < apart - WORTH_CARRYING * deviation
        least = torch.where(carried, at_inputs, apart)
        offset, offset_error = self.view.layers[-1].offset(self.properties.C)
        value = self.mean.constant + offset + self.properties.d
        size = self.mean.constant.abs() + offset.abs() + self.properties.d.abs()
        lost = self.mean.error + offset_error + least + rounding_error(8, size)
        g = down(value - above(lost, 8))
        return Limit().tail(g, deviation.unsqueeze(-1)), carried

    def taken_apart(self) -> Float64[Tensor, "P R"]:
        """Σ_j δ_j |m_j| + √(2/π) Σ_k ρ_k r_k: what the mean and the noise of each feature lose apart.

        Features that are the inputs themselves lose Σ_j δ_j E|m_j + N_j|.
        """
        _, reach = self.features
        if not self.view.known:
            folded = folded_mean(self.mean.slopes.abs(), self.noise.weight)
            return above((folded * reach.unsqueeze(-2)).sum(-1), reach.shape[-1] + ROUNDINGS + 8)
        mean = (self.mean.slopes.abs() * self.view.radius.unsqueeze(-2)).sum(-1)
        noise = MEAN_OF_A_NORMAL * (self.noise.weight * reach.unsqueeze(-2)).sum(-1)
        return above(mean + noise, self.mean.slopes.shape[-1] + reach.shape[-1] + 8)

    def taken_at_the_inputs(self) -> Float64[Tensor, "P R"]:
        """Σ_j δ_j E|m_j + (N T)_j| + √(2/π) (Σ_i w_i √Var(N·D_i) + Σ_k e_k r_k), or ∞ where none is known."""
        count, features = len(self.properties), self.view.layers[-1].inputs
        if not self.view.known or features > MAX_FEATURES:
            return torch.full_like(self.mean.constant, torch.inf)
        every = torch.eye(features, dtype=self.mean.slopes.dtype, device=self.mean.slopes.device)
        own = to_inputs(
            self.view,
            every.expand(count, -1, -1),
            torch.zeros_like(every).expand(count, -1, -1),
            in_the_middle,
        )
        gap = up(half_gaps(self.view.known[-1].lines) + own.error)
        noise = (self.noise.weight * gap.unsqueeze(-2)).sum(-1)
        terms = features + ROUNDINGS + 16
        for ranges, directions in zip(reversed(self.view.known[:-1]), own.passed[1:], strict=True):
            half = half_gaps(ranges.lines)
            open_ones = (half > 0).any(0)
            along = self.noise.along(directions[..., open_ones])
            noise = noise + (along * half[:, open_ones].unsqueeze(-2)).sum(-1)
            terms = terms + directions.shape[-1]
        folded = folded_mean(self.mean.slopes.abs(), self.noise.along(own.slopes))
        moved = (folded * self.view.radius.unsqueeze(-2)).sum(-1)
        return above(moved + MEAN_OF_A_NORMAL * noise, terms + own.slopes.shape[-1])

    def largest_deviation(self) -> Float64[Tensor, "P R"]:
        """Bounds of the deviations R of N·h + N_b at all features h of the region.

        R(h)² = R(c)² + 2 q·(h − c) + Var(N·(h − c)), q_k = Cov(N_k, N·c + N_b): the first sum is one more row
        of the features, which is bounded from above over the region. R(h) ≤ R(c) + √Var(N·(h − c)), too.
        """
        centre, reach = self.features
        at, beyond = self.noise.at(centre), self.noise.steepest(reach)
        q, inexact = self.noise.covariances(centre)
        opposite = to_inputs(self.view, -q, torch.zeros_like(q), from_below)
        least = (opposite.slopes.abs() * self.view.radius.unsqueeze(-2)).sum(-1)
        product = q * centre.unsqueeze(-2)
        terms = q.shape[-1] + opposite.slopes.shape[-1] + 8
        lost = above(
            least
            + opposite.error
            + (inexact * reach.unsqueeze(-2)).sum(-1)
            + rounding_error(terms, product.abs().sum(-1) + opposite.constant.abs()),
            terms,
        )
        rise = up(lost - opposite.constant - product.sum(-1)).clamp(min=0.0)
        square = above(at * at + 2 * rise + beyond * beyond, 8)
        return torch.minimum(up(square.sqrt()), up(at + beyond))
