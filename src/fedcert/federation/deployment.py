"""The model that is deployed: one draw of the clients' parameters, aggregated."""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws import GaussianMixture, Law, diagonal_components
from fedcert.rules import AggregationRule, Pooling


def deployed_parameters(
    laws: Sequence[Law], rule: AggregationRule, generator: torch.Generator
) -> Float64[Tensor, "n_w"]:
    """θ_g = A(θ_1, …, θ_n) with independent draws θ_i ~ q_i; under pooling the draw of one client.

    This is what a certificate speaks of, but for the generator, which is taken for a random one, and for the
    rounding of the draw. Nobody who chose a law or a property may have known the generator's seed.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        generator: the source of randomness; one that is seeded afresh unless a draw is to be repeated.

    Examples:
        >>> from fedcert import DiagonalGaussian, LinearRule, stream
        >>> law = DiagonalGaussian(torch.zeros(3).double(), torch.ones(3).double())
        >>> deployed_parameters([law, law], LinearRule.fedavg([1, 1]), stream(0)).shape
        torch.Size([3])
    """
    if isinstance(rule, Pooling):
        return _drawn(laws[int(rule.choose(1, generator))], generator)
    return rule([_drawn(law, generator) for law in laws])


def _drawn(law: Law, generator: torch.Generator) -> Float64[Tensor, "n_w"]:
    """μ + σ Z with Z standard normal in double precision, of a component that is drawn first."""
    parts, chosen = diagonal_components(law), 0
    if isinstance(law, GaussianMixture):
        chosen = int(torch.multinomial(law.weights.to(generator.device), 1, generator=generator))
    part = parts[chosen]
    z = torch.randn(law.dimension, generator=generator, device=generator.device, dtype=torch.float64)
    return torch.addcmul(part.loc, part.scale, z.to(part.loc.device))
