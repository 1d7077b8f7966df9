"""Any diagonal Gaussian law as the law of a linear rule: published laws get both kinds of claims."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidLaw, ShapeMismatch
from fedcert.laws import DiagonalLaw
from fedcert.rules.linear import LinearRule


def with_law(
    laws: Sequence[DiagonalLaw],
    loc: Float64[Tensor, "n_w"],
    scale: Float64[Tensor, "n_w"],
    name: str = "linear",
    directions: Float64[Tensor, "n n_w_or_1"] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> LinearRule:
    """The rule v + Σ_i a_i Θ_i whose law for independent Θ_i ~ N(μ_i, diag σ_i²) is N(M, diag S²).

    In each coordinate a_i = c_i S / √(Σ_j c_j² σ_j²) and v = M − Σ_i a_i μ_i, for any c that makes the root
    positive: then the mean is M and the variance Σ_i a_i² σ_i² = S². The rule is the floats that this
    computes, and claims are about the law of these floats: rounding here moves what is deployed by a few
    units in the last place, and no bound relies on it. A coordinate that no client is uncertain of, with
    S = 0, has a_i = c_i.

    Args:
        laws: the clients' posteriors.
        loc: M.
        scale: S ≥ 0.
        name: the rule's name in tables and claims.
        directions: c, how much of the noise each client contributes; equal where None.
        settings: what a published law was made with, as the certificate states it.

    Examples:
        >>> from fedcert import DiagonalGaussian
        >>> laws = [DiagonalGaussian(torch.ones(1).double() * m, torch.ones(1).double()) for m in (0, 4)]
        >>> deployed = with_law(laws, torch.ones(1).double(), torch.ones(1).double() * 3).pushforward(laws)
        >>> round(deployed.loc.item(), 9), round(deployed.scale.item(), 9)
        (1.0, 3.0)
    """
    mean, deviation = stacked(laws)
    c = torch.ones_like(deviation) if directions is None else directions.expand_as(deviation)
    spread = (c * deviation).square().sum(0).sqrt()
    stuck = (spread == 0) & (scale != 0)
    if stuck.any():
        d = int(stuck.nonzero()[0])
        raise InvalidLaw(
            f"{name}: no client is uncertain of parameter {d}, so no linear rule deploys it with deviation"
            f" {scale[d].item():g}: give the clients' laws a deviation there"
        )
    weights = torch.where(spread == 0, c, c * (scale / spread))
    return LinearRule(weights, loc - (weights * mean).sum(0), name, settings or {})


def stacked(laws: Sequence[DiagonalLaw]) -> tuple[Float64[Tensor, "n n_w"], Float64[Tensor, "n n_w"]]:
    """The means and the deviations of all clients; an error where their networks differ.

    Args:
        laws: the clients' posteriors.
    """
    if len({law.dimension for law in laws}) > 1:
        raise ShapeMismatch(
            f"clients with {sorted({law.dimension for law in laws})} parameters: all must train the same"
            " network"
        )
    return torch.stack([law.loc for law in laws]), torch.stack([law.scale for law in laws])
