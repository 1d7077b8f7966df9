"""Rough margins of random networks at points: only to choose what is worth a bound."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from fedcert.laws.affine import RandomAffine
from fedcert.model.properties import Properties

FAR = 9.0
"""Deviations from 0 beyond which a margin has practically one sign; noise may be more than linear."""


def may_be_negative(layers: Sequence[RandomAffine], negated: Properties) -> Bool[Tensor, "P"]:
    """For which properties some margin −(C f(x) + d) at a point x may be positive with some probability.

    The noise of each layer is taken at the mean network's activations and carried on by its slopes.

    Args:
        layers: the network and its law.
        negated: −C and −d at points.
    """
    h, slopes = [negated.regions.lower], []
    for layer in layers[:-1]:
        mean = layer.at(h[-1]).mean
        h.append(mean.clamp(min=0.0))
        slopes.append((mean > 0).to(mean.dtype).unsqueeze(-2))
    margin = (negated.C @ layers[-1].at(h[-1]).mean.unsqueeze(-1)).squeeze(-1) + negated.d
    rows, variance = negated.C, torch.zeros_like(margin)
    for depth in reversed(range(len(layers))):
        variance = variance + layers[depth].noise(rows).at(h[depth]).square()
        rows = layers[depth].product(rows)[0]
        rows = rows * slopes[depth - 1] if depth else rows
    return ~(margin < -FAR * variance.sqrt()).all(-1)
