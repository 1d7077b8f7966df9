"""Transport by a fine grid of boxes of the clients' parameters (docs/soundness.md, 10.5), in balls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat

from fedcert_check.balls import ZERO, Balls, matmul, size, tail, upper
from fedcert_check.projected.dependent import Layer
from fedcert_check.projected.exact import Region
from fedcert_check.projected.layers import RandomLayer, Unproven, root

FARTHEST = 40  # deviations of a parameter from its mean
LEAST_BITS, MOST_BITS = 8, 512


class Largest(NamedTuple):
    """What the parameters of one layer can be, normals up to `FARTHEST`: |M| + 40 S and |m| + 40 s."""

    weight: Balls
    bias: Balls


@dataclass(frozen=True, eq=False)
class Grid:
    """Boxes so small that the image of a tuple is no wider than 2^-bits of what each parameter can be.

    Attributes:
        layers: what the parameters of the deployed law can be.
        missed: at least the probability that one of them is farther from its mean than `FARTHEST` deviations.
        bits: of the width.
    """

    layers: Sequence[Largest]
    missed: arb
    bits: int

    @classmethod
    def of(cls, layers: Sequence[Layer], bits: int) -> "Grid":
        """The grid for a network under its deployed law."""
        spreads = [_variances(layer) for layer in layers]
        fixed = all(layer.fixed for layer in layers)
        parameters = sum(part.size for own in spreads for part in own)
        missed = ZERO if fixed else 2 * parameters * tail(arb(FARTHEST))
        return cls(list(map(_largest, layers, spreads)), missed, bits)

    def tightened(self, region: Region) -> Region:
        """C f(x) + d − ε ≥ 0: what the drawn network must satisfy for all of its tuple's image to be safe.

        With q = 2^-bits, networks of an image have activations of at most (1 + q)^l H_l, and these differ by
        at most ((1 + q)^l − 1) H_l, H_l being what the outputs of layer l can be; (1 + q)^L − 1 ≤ 2 L q.
        """
        if len(self.layers) > 2**self.bits:
            raise Unproven("too wide an image for so many layers")
        reach = upper(size(region.centre) + region.radius)
        for weight, bias in self.layers:
            reach = upper(matmul(weight, reach) + bias)
        share = 2 * len(self.layers) * arb(2) ** -self.bits
        return replace(region, d=region.d - share * matmul(size(region.C), reach))


def _largest(layer: Layer, variances: tuple[Balls, Balls]) -> Largest:
    weights, biases = variances
    return Largest(
        upper(size(_entries(layer.mean)) + FARTHEST * root(weights)),
        upper(size(layer.bias) + FARTHEST * root(biases)),
    )


def _variances(layer: Layer) -> tuple[Balls, Balls]:
    """Of the weights and of the biases."""
    if isinstance(layer, RandomLayer):
        return _entries(layer.variance), layer.bias_variance
    return layer.weight_variances, layer.bias_variances


def _entries(matrix_of_balls: arb_mat) -> Balls:
    entries = np.empty(matrix_of_balls.nrows() * matrix_of_balls.ncols(), dtype=object)
    entries[:] = matrix_of_balls.entries()
    return entries.reshape(matrix_of_balls.nrows(), matrix_of_balls.ncols())
