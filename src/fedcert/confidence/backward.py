"""Backward linear bounds of drawn networks: only rows of coefficients travel, one matrix product a layer.

What is kept at each layer's inputs h is rows · z ≥ a · h + value − charge, with coefficients a that are taken
as the exact numbers that the floats are: what rounding and the radius of the weights may have done to them is
charged against the largest |h|. A rectifier becomes a line (`Lines`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.confidence.chain import OUTWARD, Affine, Chain, rounding_of
from fedcert.confidence.forward import ROUNDED, Region, through_affine, through_relu

TINY = 2.0**-1000  # more than what underflow may lose
FLOOR = 2.0**-500  # added to coefficients that are charged: more than underflow may have lost of them


class Bound(NamedTuple):
    """rows · z ≥ a · h + value − charge for all inputs within bounds.

    Attributes:
        coefficients: a, of shape (B, P, R, k).
        value: as floating point added it up.
        charge: what `value` may be too large by, up to the factor `OUTWARD`.
    """

    coefficients: Float64[Tensor, "B P R k"]
    value: Float64[Tensor, "B P R"]
    charge: Float64[Tensor, "B P R"]


@dataclass(frozen=True, eq=False)
class Lines:
    """slope · y ≤ relu(y) ≤ slope · y + height for y within bounds; below, any slope in [0, 1] will do.

    Attributes:
        slope: of the line above.
        height: of the line above; 0 where the sign of y is known.
        slack: what a rounded product of a coefficient and a slope may be off by, for a coefficient of 1; 0
            where the sign of y is known, since products with 0 and 1 are exact.
        below: the slope of the line below, 0 or 1.
    """

    slope: Float64[Tensor, "B P k"]
    height: Float64[Tensor, "B P k"]
    slack: Float64[Tensor, "B P k"]
    below: Float64[Tensor, "B P k"]

    @classmethod
    def around(cls, y: Region) -> "Lines":
        """The chord above, and below the line 0 or y, whichever is nearer.

        A rounded slope s in [0, 1] is as good as the exact one: relu(y) ≤ s y + t on [l, u] for
        t ≥ max(−s l, (1 − s) u, 0), the ends of a convex function.

        Args:
            y: bounds of the arguments.
        """
        low, high = y.low, y.high
        slope = torch.where(low >= 0, 1.0, torch.where(high <= 0, 0.0, high / (high - low))).clamp(0, 1)
        slack = ROUNDED * torch.maximum(-low, high) + TINY
        height = torch.maximum(-slope * low, (1 - slope) * high) * (1 + ROUNDED) + TINY
        crossing = ~((low >= 0) | (high <= 0))  # also where a bound is not a number
        height, slack = torch.where(crossing, height, 0.0), torch.where(crossing, slack, 0.0)
        return cls(slope, height, slack, (high > -low).to(low.dtype))

    def from_below(self, bound: Bound) -> Bound:
        """Carry a lower bound through: the line below for coefficients ≥ 0, the line above for the others.

        Args:
            bound: linear in relu(y).
        """
        a = bound.coefficients
        falling = a.clamp(max=0.0)
        coefficients = a.clamp(min=0.0) * self.below.unsqueeze(-2) + falling * self.slope.unsqueeze(-2)
        lost = ((FLOOR - falling) @ (self.height + self.slack).unsqueeze(-1)).squeeze(-1)
        return Bound(coefficients, bound.value, bound.charge + lost)

    def from_both_sides(self, bound: Bound) -> Bound:
        """Carry an enclosure value ± charge through: relu(y) is within height/2 of slope · y + height/2.

        Args:
            bound: linear in relu(y).
        """
        a, half = bound.coefficients, (self.height / 2).unsqueeze(-1)
        coefficients = a * self.slope.unsqueeze(-2)
        lost = ((a.abs() + FLOOR) @ (half + self.slack.unsqueeze(-1))).squeeze(-1)
        return Bound(coefficients, bound.value + (a @ half).squeeze(-1), bound.charge + lost)


def through_affine_backward(layer: Affine, h: Region, bound: Bound) -> Bound:
    """Rewrite a (W h + b) as fl(a W) h + a b, off by ‖a‖_1 (ρ ‖h‖_1 + ρ_b).

    Args:
        layer: W and b.
        h: bounds of the inputs.
        bound: linear in the outputs.
    """
    a = bound.coefficients
    size = a.abs().sum(-1) + FLOOR
    each = layer.weight_radius[:, None] * h.size + layer.bias_radius[:, None]
    value = bound.value + (a @ layer.bias[:, None, :, None]).squeeze(-1)
    networks, properties, rows, outputs = a.shape
    flat = a.reshape(networks, properties * rows, outputs) @ layer.weight
    return Bound(flat.unflatten(1, (properties, rows)), value, bound.charge + size * each.unsqueeze(-1))


def at_input(bound: Bound, x: Region, rounding: float) -> tuple[Tensor, Tensor]:
    """The value at the centre of the region, and a bound of what it is off by over the region.

    Args:
        bound: linear in the network's inputs.
        x: bounds of them.
        rounding: the relative charge for a sum over the inputs.
    """
    a = bound.coefficients
    value = bound.value + (a @ x.centre.unsqueeze(-1)).squeeze(-1)
    spread = x.radius + rounding * x.centre.abs()
    error = bound.charge + ((a.abs() + FLOOR) @ spread.unsqueeze(-1)).squeeze(-1)
    return value, error * OUTWARD


def constraint_bound(
    chain: Chain, bounds: Sequence[Region], C: Float64[Tensor, "#B P R K"], d: Float64[Tensor, "#B P R"]
) -> tuple[Tensor, Tensor, Tensor]:
    """Lower bounds of C f(x) + d as value − error, and the coefficients of the inputs that they come from.

    Args:
        chain: the layers.
        bounds: of the inputs of every layer.
        C: the constraints.
        d: their offsets.
    """
    B, (P, R, K) = max(len(layer.weight) for layer in chain if layer is not None), C.shape[-3:]
    rounding = rounding_of(bounds[0].centre.shape[-1], chain)
    d = d.expand(B, P, R)
    bound = Bound(C.expand(B, P, R, K), d, rounding * d.abs())
    for layer, inputs in zip(reversed(chain), reversed(bounds[: len(chain)]), strict=True):
        if layer is None:
            bound = Lines.around(inputs).from_below(bound)
        else:
            bound = through_affine_backward(layer, inputs, bound)
    value, error = at_input(bound, bounds[0], rounding)
    return value, error, bound.coefficients


def tightened_bounds(chain: Chain, x: Region, known: Sequence[Region] = ()) -> list[Region]:
    """Bounds of the inputs of every layer, those of rectifiers tightened by backward bounds.

    Args:
        chain: the layers.
        x: bounds of the network's inputs, one property for each network: (B, 1, p).
        known: what was found for the first layers, x included.
    """
    bounds = list(known) or [x]
    for place in range(len(bounds) - 1, len(chain) - 1):
        layer = chain[place]
        h = through_relu(bounds[-1]) if layer is None else through_affine(layer, bounds[-1])
        if layer is not None and place > 0 and chain[place + 1] is None:
            h = _intersection(h, _neurons(chain[: place + 1], bounds))
        bounds.append(h)
    return bounds


def _neurons(chain: Chain, bounds: Sequence[Region]) -> Region:
    """Bounds of the outputs of an affine layer, from both sides at once: its own rows travel backward."""
    last = chain[-1]
    assert last is not None
    rounding = rounding_of(bounds[0].centre.shape[-1], chain)
    each = last.weight_radius[:, None] * bounds[len(chain) - 1].size + last.bias_radius[:, None]
    rows, value = last.weight.unsqueeze(1), last.bias.unsqueeze(1)
    bound = Bound(rows, value, each.unsqueeze(-1).expand_as(value))
    for layer, inputs in zip(reversed(chain[:-1]), reversed(bounds[: len(chain) - 1]), strict=True):
        if layer is None:
            bound = Lines.around(inputs).from_both_sides(bound)
        else:
            bound = through_affine_backward(layer, inputs, bound)
    value, error = at_input(bound, bounds[0], rounding)
    return Region(value, error + ROUNDED * value.abs())


def _intersection(a: Region, b: Region) -> Region:
    """What lies in both; where one is not a number, the other."""
    return Region.between(torch.fmax(a.low, b.low), torch.fmin(a.high, b.high))
