"""The prior precision that maximises Laplace's approximation of the marginal likelihood."""

import math

from jaxtyping import Float64
from torch import Tensor

BITS = 80  # the precision lies between 2^-BITS/2 and 2^BITS/2
HALVINGS = 64  # of the logarithm of the precision, which double precision ends


def log_evidence(theta: Float64[Tensor, "n_w"], curvature: Float64[Tensor, "n_w"], precision: float) -> float:
    """Laplace's approximation of log p(D | δ), up to what does not depend on δ.

    The prior is N(0, δ^-1 I), the mode θ and the curvature h of the negative log-likelihood at it:
    ½ Σ_d [log δ − δ θ_d² − log(h_d + δ)].

    Args:
        theta: θ, the mode.
        curvature: h ≥ 0, diagonal.
        precision: δ.
    """
    terms = math.log(precision) - precision * theta.square() - (curvature + precision).log()
    return 0.5 * terms.sum().item()


def best_precision(theta: Float64[Tensor, "n_w"], curvature: Float64[Tensor, "n_w"]) -> float:
    """The δ that maximises `log_evidence`.

    Its derivative is [γ(δ) − δ ‖θ‖²] / 2δ with γ(δ) = Σ_d h_d / (h_d + δ), the number of parameters that the
    data determine (MacKay 1992). γ falls and δ ‖θ‖² rises, so there is one root and it is the maximum:
    bisection finds it, between 2^-40 and 2^40. An end is returned where the maximum lies beyond it.

    Args:
        theta: θ, the mode.
        curvature: h ≥ 0, diagonal.

    Examples:
        >>> import torch
        >>> round(best_precision(torch.tensor([2.0]).double(), torch.tensor([1e9]).double()), 6)
        0.25
    """
    size = theta.square().sum().item()
    low, high = -BITS / 2, BITS / 2
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        precision = math.exp2(middle)
        determined = (curvature / (curvature + precision)).sum().item()
        low, high = (middle, high) if determined > precision * size else (low, middle)
    return math.exp2(low)
