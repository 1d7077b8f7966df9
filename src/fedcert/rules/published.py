"""Laws that people publish for the deployed model, as linear rules (docs/rules.md has sources and forms).

The weights w of a law are ≥ 0 and sum to one; where a law has none, the precisions σ_i^-2 weigh the clients.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidConfig
from fedcert.laws import DiagonalLaw
from fedcert.rules.linear import LinearRule
from fedcert.rules.with_law import stacked, with_law

LEAST_PRECISION_LEFT = 1e-4
"""Of the clients' precision: what is left below this, after priors are divided out, is mostly rounding."""

Weights = Float64[Tensor, "n 1"]


def wasserstein(laws: Sequence[DiagonalLaw], weights: Weights) -> LinearRule:
    """The Wasserstein-2 barycentre: mean Σ w_i μ_i and deviation Σ w_i σ_i.

    Args:
        laws: the clients' posteriors.
        weights: w.
    """
    mean, deviation = stacked(laws)
    return with_law(
        laws,
        (weights * mean).sum(0),
        (weights * deviation).sum(0),
        "wasserstein",
        weights,
        _stating(weights),
    )


def averaged_variances(laws: Sequence[DiagonalLaw], weights: Weights) -> LinearRule:
    """Mean Σ w_i μ_i and variance Σ w_i σ_i², the law of v + Σ √w_i Θ_i.

    Args:
        laws: the clients' posteriors.
        weights: w.
    """
    mean, _ = stacked(laws)
    roots = weights.sqrt()
    return LinearRule(roots, ((weights - roots) * mean).sum(0), "averaged-variances", _stating(weights))


def forward_kl(laws: Sequence[DiagonalLaw], weights: Weights) -> LinearRule:
    """The Gaussian with the mean and variances of the mixture Σ w_i q_i; it minimises Σ w_i KL(q_i ‖ q).

    Its mean is M = Σ w_i μ_i, its variance Σ w_i (σ_i² + (μ_i − M)²).

    Args:
        laws: the clients' posteriors.
        weights: w.
    """
    mean, deviation = stacked(laws)
    centre = (weights * mean).sum(0)
    variance = (weights * (deviation.square() + (mean - centre).square())).sum(0)
    return with_law(laws, centre, variance.sqrt(), "forward-kl", weights.sqrt(), _stating(weights))


def reverse_kl(laws: Sequence[DiagonalLaw], weights: Weights) -> LinearRule:
    """The normalised geometric mean Π q_i^(w_i), which minimises Σ w_i KL(q ‖ q_i).

    Its precision is P = Σ w_i σ_i^-2 and its mean Σ w_i σ_i^-2 μ_i / P.

    Args:
        laws: the clients' posteriors.
        weights: w.
    """
    mean, deviation = stacked(laws)
    certain = deviation.where(weights > 0, torch.inf).amin(0)
    shares = weights * _relative_precision(deviation, certain)
    total = shares.sum(0)
    return with_law(
        laws,
        (shares * mean).sum(0) / total,
        certain / total.sqrt(),
        "reverse-kl",
        torch.where(weights > 0, shares / weights.sqrt(), 0.0),
        _stating(weights),
    )


def prior_corrected(laws: Sequence[DiagonalLaw], prior_scale: float) -> LinearRule:
    """The product Π q_i / p^(n−1) of posteriors that all hold the prior p = N(0, σ_0² I), counted once.

    Its precision is P = Σ σ_i^-2 − (n − 1) σ_0^-2 and its mean Σ σ_i^-2 μ_i / P.

    Args:
        laws: the clients' posteriors.
        prior_scale: σ_0.
    """
    if not 0 < prior_scale < torch.inf:
        raise InvalidConfig(f"prior_scale: must be a finite number > 0, not {prior_scale}")
    mean, deviation = stacked(laws)
    certain = deviation.amin(0)
    shares = _relative_precision(deviation, certain)
    total = shares.sum(0) - (len(laws) - 1) * (certain / prior_scale).square()
    require_precision_left(
        total / certain.square(), shares.sum(0) / certain.square(), len(laws) - 1, prior_scale
    )
    return with_law(
        laws,
        (shares * mean).sum(0) / total,
        certain / total.sqrt(),
        "prior-corrected",
        shares,
        {"prior_scale": float(prior_scale)},
    )


def require_precision_left(
    left: Float64[Tensor, "m"],
    had: Float64[Tensor, "m"],
    priors: int,
    prior_scale: float,
    what: str = "parameter",
) -> None:
    """Raise where too little precision is left after priors are divided out.

    Args:
        left: the precisions that are left, of parameters or of directions.
        had: those of the clients.
        priors: the number of priors that are divided out.
        prior_scale: σ_0.
        what: each precision belongs to, for the error.
    """
    lost = ~(left > LEAST_PRECISION_LEFT * had)
    if lost.any():
        d = int(lost.nonzero()[0])
        raise InvalidConfig(
            f"prior_scale: dividing out {priors} priors of deviation {prior_scale:g} leaves {what} {d} a"
            f" precision of {left[d].item():.3g} of the clients' {had[d].item():.3g}: give the (wider) prior"
            " that they trained with, or choose the rule conflation"
        )


def _relative_precision(
    deviation: Float64[Tensor, "n n_w"], certain: Float64[Tensor, "n_w"]
) -> Float64[Tensor, "n n_w"]:
    """(σ / σ_i)² for a deviation σ; 1 where both are 0, so that clients of deviation 0 decide alone."""
    return torch.where(deviation == certain, 1.0, certain / deviation).square()


def _stating(weights: Weights) -> dict[str, list[float]]:
    """What the certificate states of the weights, which must be ≥ 0 and sum to one."""
    LinearRule.average(weights)
    return {"weights": weights.squeeze(-1).tolist()}
