"""Noise of layers that depend on each other: at fixed activations it is one projection of all parameters.

    Σ_l B_l·(W̃_l c_l + b̃_l) = c·θ̃,    of variance c·Σ c,

where c has the entries B_lj c_lk for the weights and B_lj for the biases (docs/soundness.md, section 14).
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw
from fedcert.families.projected.tails import total
from fedcert.laws.affine import JoinedAffine, RandomAffine
from fedcert.numerics.rounding import above, up


class Seen(NamedTuple):
    """What a linear form sees of one layer.

    Attributes:
        rows: B.
        inputs: c, fixed.
    """

    rows: Float64[Tensor, "P R m"]
    inputs: Float64[Tensor, "P k"]


def joined(layers: Sequence[RandomAffine]) -> TypeGuard[Sequence[JoinedAffine]]:
    """Whether the noise of some layers may depend on that of others.

    Args:
        layers: of a network, under one law.
    """
    found = [isinstance(layer, JoinedAffine) for layer in layers]
    if any(found) and not all(found):
        raise InvalidLaw("a law whose layers depend on each other says so of all its layers")
    return all(found)


def joint_deviation(layers: Sequence[RandomAffine], seen: Sequence[Seen]) -> Float64[Tensor, "P R"]:
    """Upper bounds of the deviation of Σ_l B_l·(W̃_l c_l + b̃_l).

    Args:
        layers: all layers of a network, under one law.
        seen: of the first of these layers, in their order.
    """
    pairs = list(zip(layers, seen, strict=False))
    if not joined(layers):
        return total(torch.stack([layer.noise(own.rows).at(own.inputs) for layer, own in pairs], dim=-1))
    parts = [layer.coefficients(*own) for layer, own in zip(layers, seen, strict=False)]
    coefficients, error = (torch.cat(own, dim=-1) for own in zip(*parts, strict=True))
    joint, known = layers[0].joint, coefficients.shape[-1]
    missing = len(joint.deviation) - known
    lost = error @ joint.deviation[:known]
    found = joint.of_projection(torch.nn.functional.pad(coefficients, (0, missing)))
    return up(found + above(lost, known + 2)) if error.any() else found
