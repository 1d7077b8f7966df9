"""The models whose accuracy a run reports: the means of the Gaussians that the deployed law is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.laws import GaussianMixture, Law
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, Pooling, StatedGaussian

MAX_MODELS = 64
"""Tuples of components whose means are evaluated; if there are more, so many are drawn."""


@dataclass(frozen=True)
class MeanModels:
    """Parameters, and the probability of each.

    Attributes:
        theta: of m models.
        share: m numbers that sum to one, rounding apart.
    """

    theta: Float64[Tensor, "m n_w"]
    share: Float64[Tensor, "m"]

    @property
    def likeliest(self) -> Float64[Tensor, "n_w"]:
        """The model with the largest share."""
        return self.theta[int(self.share.argmax())]


def mean_models(rule: AggregationRule, laws: Sequence[Law]) -> MeanModels:
    """For Gaussian clients the one posterior-mean model; one for each tuple of components of mixtures.

    The mean of a mixture's modes is nobody's model, so it is not evaluated. Under pooling there is one model
    for each client and component.

    Args:
        rule: the deployed rule.
        laws: the clients' posteriors.
    """
    shares = [_shares(law) for law in laws]
    if isinstance(rule, Pooling):
        pool = (rule.weights[:, 0] / rule.weights.sum()).to(shares[0])
        theta = [part.loc for law in laws for part in law.components]
        return MeanModels(
            torch.stack(theta), torch.cat([w * own for w, own in zip(pool, shares, strict=True)])
        )
    if isinstance(rule, StatedGaussian):
        return MeanModels(rule.loc.unsqueeze(0), torch.ones(1).to(shares[0]))
    sizes = [len(law.components) for law in laws]
    if prod(sizes) <= MAX_MODELS:
        tuples = list(product(*map(range, sizes)))
        weight = [prod(own[k].item() for own, k in zip(shares, chosen, strict=True)) for chosen in tuples]
    else:
        generator = stream(0, "mean models")
        drawn = [torch.multinomial(own.cpu(), MAX_MODELS, True, generator=generator) for own in shares]
        tuples = [tuple(chosen) for chosen in torch.stack(drawn, dim=1).tolist()]
        weight = [1 / MAX_MODELS] * MAX_MODELS
    means = [rule([law.components[k].loc for law, k in zip(laws, own, strict=True)]) for own in tuples]
    return MeanModels(torch.stack(means), torch.tensor(weight).to(shares[0]))


def _shares(law: Law) -> Float64[Tensor, "K"]:
    """The probabilities of a law's components, in floating point."""
    if isinstance(law, GaussianMixture):
        return law.weights / law.weights.sum()
    return torch.ones(1, dtype=torch.float64, device=law.loc.device)
