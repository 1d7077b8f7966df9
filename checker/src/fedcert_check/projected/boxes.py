"""Transport by a fine grid of boxes of the clients' parameters (docs/soundness.md, 10.5), in balls."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb, arb_mat

from fedcert_check.balls import ZERO, Balls, matmul, size, tail, upper, zeros
from fedcert_check.projected.any_layer import Layer
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.exact import Region
from fedcert_check.projected.layers import RandomLayer, Unproven, random_layer, root

FARTHEST = 40  # deviations of a parameter from its mean
LEAST_BITS, MOST_BITS = 8, 512


@dataclass(frozen=True, eq=False)
class Grid:
    """Boxes so small that the image of a tuple is no wider than 2^-bits of what each parameter can be.

    Attributes:
        layers: the network with the largest parameters that it can have, |M| + 40 S and |m| + 40 s.
        missed: at least the probability that one of them is farther from its mean than `FARTHEST` deviations.
        bits: of the width.
    """

    layers: Sequence[ConvLayer | RandomLayer]
    missed: arb
    bits: int

    @classmethod
    def of(cls, layers: Sequence[Layer], bits: int) -> "Grid":
        """The grid for a network under its deployed law."""
        fixed = all(layer.fixed for layer in layers)
        parameters = sum(layer.inputs * layer.outputs + layer.outputs for layer in layers)
        missed = ZERO if fixed else 2 * parameters * tail(arb(FARTHEST))
        return cls([_largest(layer) for layer in layers], missed, bits)

    def tightened(self, region: Region) -> Region:
        """C f(x) + d − ε ≥ 0: what the drawn network must satisfy for all of its tuple's image to be safe.

        With q = 2^-bits, networks of an image have activations of at most (1 + q)^l H_l, and these differ by
        at most ((1 + q)^l − 1) H_l, H_l being what the outputs of layer l can be; (1 + q)^L − 1 ≤ 2 L q.
        """
        if len(self.layers) > 2**self.bits:
            raise Unproven("too wide an image for so many layers")
        reach = upper(size(region.centre) + region.radius)
        for layer in self.layers:
            reach = upper(layer.mean_at(reach))
        share = 2 * len(self.layers) * arb(2) ** -self.bits
        return replace(region, d=region.d - share * matmul(size(region.C), reach))


def _largest(layer: Layer) -> ConvLayer | RandomLayer:
    """A layer of known parameters |M| + 40 S and |m| + 40 s."""
    if isinstance(layer, ConvLayer):
        kernel = _far(layer.kernel, layer.variance)
        offsets = _far(layer.offsets, layer.offset_variance)
        return ConvLayer(layer.layer, kernel, offsets, zeros(*kernel.shape), zeros(*offsets.shape))
    if isinstance(layer, RandomLayer):
        variances, offset_variances = _entries(layer.variance), layer.bias_variance
    else:
        variances, offset_variances = layer.weight_variances, layer.bias_variances
    weight, bias = _far(_entries(layer.mean), variances), _far(layer.bias, offset_variances)
    return random_layer(weight, bias, zeros(*weight.shape), zeros(*bias.shape))


def _far(mean: Balls, variance: Balls) -> Balls:
    return upper(size(mean) + FARTHEST * root(variance))


def _entries(matrix_of_balls: arb_mat) -> Balls:
    entries = np.empty(matrix_of_balls.nrows() * matrix_of_balls.ncols(), dtype=object)
    entries[:] = matrix_of_balls.entries()
    return entries.reshape(matrix_of_balls.nrows(), matrix_of_balls.ncols())
