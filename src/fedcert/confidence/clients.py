"""Clients to draw from, whatever their laws, and the draws of all clients."""

from collections.abc import Sequence
from concurrent.futures import Executor

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.confidence.dependent import DependentClient
from fedcert.confidence.draws import draw_words
from fedcert.confidence.independent import IndependentClient
from fedcert.laws import BlockGaussian, DenseGaussian, Law

Client = IndependentClient | DependentClient
"""A client's law, ready to be drawn from: it says how many normals a draw is made from (`normals`), what they
make of it (`thetas`), and bounds of what is computed (`reach`) and of what that is off by (`radius`)."""


def client_of(law: Law) -> Client:
    """A law that is stated exactly, ready to be drawn from.

    Args:
        law: the client's posterior.
    """
    if isinstance(law, DenseGaussian | BlockGaussian):
        return DependentClient.of(law)
    return IndependentClient.of(law)


def draw_all(
    clients: Sequence[Client], key: tuple[int, int], numbers: Sequence[int], workers: Executor
) -> tuple[list[Float64[Tensor, "B n_w"]], Bool[Tensor, "B"]]:
    """The parameters of every client in some draws; and which draws are known to within the radii.

    Args:
        clients: in the order of the rule's weights.
        key: of the generator.
        numbers: of the draws.
        workers: threads.
    """
    thetas, known = [], torch.ones(len(numbers), dtype=torch.bool)
    for place, client in enumerate(clients):
        words = draw_words(key, numbers, place, client.normals, workers)
        theta, close = client.thetas(words)
        thetas.append(theta)
        known &= close
    return thetas, known
