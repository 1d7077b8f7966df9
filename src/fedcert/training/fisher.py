"""The diagonal of the Fisher information of a classifier, exactly."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jacrev, vmap

from fedcert.model.network import Network

MAX_HELD_ELEMENTS = 2**24
"""Entries of the Jacobians that are held at a time."""


def diagonal_fisher(
    network: Network, theta: Float[Tensor, "n_w"], x: Float[Tensor, "n p"]
) -> Float[Tensor, "n_w"]:
    """F_d = mean over the inputs of Σ_k p_k (∂ log p_k / ∂θ_d)², where p = softmax f_θ(x).

    The labels are summed over under the model itself, so this is the Fisher information and not the empirical
    one of the labels that were seen. For a softmax it is also the diagonal of the generalised Gauss–Newton
    matrix Jᵀ (diag p − p pᵀ) J.

    Args:
        network: f_θ.
        theta: its parameters.
        x: inputs.
    """

    def log_probabilities(parameters: Tensor, one: Tensor) -> Tensor:
        return network(parameters, one.unsqueeze(0)).squeeze(0).log_softmax(-1)

    def of_one(one: Tensor) -> Tensor:
        scores: Tensor = jacrev(log_probabilities)(theta, one)
        return (log_probabilities(theta, one).exp().unsqueeze(-1) * scores.square()).sum(0)

    at_a_time = max(1, MAX_HELD_ELEMENTS // (network.outputs * network.parameters))
    total = torch.zeros_like(theta)
    for part in x.split(at_a_time):
        total = total + vmap(of_one)(part).sum(0)
    return total / len(x)
