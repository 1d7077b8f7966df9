"""Layers under any law, and what a linear form sees of several, in balls (docs/soundness.md, 14 and 15)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from flint import arb_mat

from fedcert_check.balls import Balls, zeros
from fedcert_check.projected.convolution import ConvLayer
from fedcert_check.projected.dependent import DependentLayer
from fedcert_check.projected.dependent_convolution import DependentConvLayer
from fedcert_check.projected.layers import RandomLayer, root
from fedcert_check.projected.parts import projected

Layer = RandomLayer | DependentLayer | ConvLayer
"""W h + b, with independent parameters, with any covariance, or a convolution."""


class Seen(NamedTuple):
    """What a linear form sees of one layer, at fixed inputs.

    Attributes:
        rows: B.
        inputs: c.
    """

    rows: Balls
    inputs: Balls


def joint_covariance(layer: Layer) -> arb_mat | None:
    """The covariance of the parameters of all layers, if those of this one depend on others."""
    return layer.joint if isinstance(layer, DependentLayer | DependentConvLayer) else None


def joint_deviation(layers: Sequence[Layer], seen: Sequence[Seen]) -> Balls:
    """The deviation of Σ_l B_l·(W̃_l c_l + b̃_l), of the first layers.

    Args:
        layers: all layers, under one law.
        seen: of the first of them, in their order.
    """
    joint = joint_covariance(layers[0])
    if joint is None:
        parts = [layer.at(*own) for layer, own in zip(layers, seen, strict=False)]
        return root(np.sum([part * part for part in parts], axis=0))
    joined = [own for own in layers if isinstance(own, DependentLayer | DependentConvLayer)]
    parts = [layer.coefficients(*own) for layer, own in zip(joined, seen, strict=False)]
    known = sum(part.shape[1] for part in parts)
    missing = zeros(len(parts[0]), joint.nrows() - known)
    return root(projected(np.concatenate([*parts, missing], axis=1), joint))
