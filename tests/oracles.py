"""Slow, exact answers to compare the fast paths with."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import torch
from balls import precision
from flint import arb
from torch import Tensor

from fedcert.laws import DiagonalGaussian
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box

Interval = tuple[Fraction, Fraction]


def exact(x: float | Tensor) -> Fraction:
    """The rational number that a float is."""
    return Fraction(float(x))


def _interval(lower: Tensor, upper: Tensor) -> Interval:
    return exact(lower), exact(upper)


def multiply(a: Interval, b: Interval) -> Interval:
    """The least and greatest of the four corner products (eqs. ibp_min, ibp_max)."""
    corners = [x * y for x, y in product(a, b)]
    return min(corners), max(corners)


def dot(a: Sequence[Interval], b: Sequence[Interval], bias: Interval) -> Interval:
    """Interval dot product plus bias, in rational arithmetic."""
    low, high = bias
    for x, y in zip(a, b, strict=True):
        least, greatest = multiply(x, y)
        low, high = low + least, high + greatest
    return low, high


def interval_outputs(network: Network, box: Box, region: Box) -> list[Interval]:
    """The paper's interval propagation for one parameter box and one region, in rational arithmetic."""
    bounds = [_interval(low, high) for low, high in zip(region.lower, region.upper, strict=True)]
    lowers, uppers = network.unflatten(box.lower), network.unflatten(box.upper)
    for layer, low, high in zip(network.layers, lowers, uppers, strict=True):
        if isinstance(layer, Linear):
            rows = [
                [_interval(low[0][j, k], high[0][j, k]) for k in range(layer.inputs)]
                for j in range(layer.outputs)
            ]
            bounds = [dot(row, bounds, _interval(low[1][j], high[1][j])) for j, row in enumerate(rows)]
        else:
            assert isinstance(layer, ReLU)
            bounds = [(max(low, Fraction(0)), max(high, Fraction(0))) for low, high in bounds]
    return bounds


def interval_margins(network: Network, box: Box, properties: Properties, j: int) -> list[Fraction]:
    """The paper's lower bounds of C z + d for property j, in rational arithmetic."""
    outputs = interval_outputs(network, box, properties.regions[j])
    return [
        dot(
            [_interval(c, c) for c in properties.C[j, r]],
            outputs,
            _interval(properties.d[j, r], properties.d[j, r]),
        )[0]
        for r in range(properties.C.shape[1])
    ]


def forward(network: Network, theta: Tensor, x: Tensor) -> list[Fraction]:
    """f_θ(x) for one θ and one x, in rational arithmetic."""
    return [low for low, _ in interval_outputs(network, Box.point(theta), Box.point(x))]


def normal_cdf(z: arb) -> arb:
    return (-z / arb(2).sqrt()).erfc() / 2


def log_mass(law: DiagonalGaussian, box: Box) -> arb:
    """log q(H) of one box as a ball, with many more digits than a float has."""
    with precision(2000):
        total = arb(0)
        rows = zip(law.loc.tolist(), law.scale.tolist(), box.lower.tolist(), box.upper.tolist(), strict=True)
        for loc, scale, low, high in rows:
            a, b = (arb(low) - loc) / scale, (arb(high) - loc) / scale
            if a > 0:  # reflect, or both tails are 1 to within the precision
                a, b = -b, -a
            total += (normal_cdf(b) - normal_cdf(a)).log()
        return total


def random_points(box: Box, count: int, generator: torch.Generator) -> Tensor:
    """Points of one box: its corners' coordinates and uniform ones, mixed."""
    shape = (count, *box.shape)
    share = torch.rand(shape, generator=generator, dtype=torch.float64)
    corner = torch.rand(shape, generator=generator) < 0.5
    share = torch.where(corner, share.round(), share)
    point = box.lower + share * (box.upper - box.lower)
    return point.clamp(min=box.lower, max=box.upper)
