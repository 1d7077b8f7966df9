"""Draws of a deployed model under pooling: a stream of its own says which client's draw is deployed."""

from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np
import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.confidence.clients import Client
from fedcert.confidence.deployed import OUTWARD, TINY, Drawn, largest_radii
from fedcert.confidence.draws import draw_words, words_of_components
from fedcert.model.network import Network
from fedcert.rules import Pooling


def draw_pooled(
    rule: Pooling,
    network: Network,
    clients: Sequence[Client],
    key: tuple[int, int],
    numbers: Sequence[int],
    workers: Executor,
) -> tuple[Drawn, Bool[Tensor, "B"]]:
    """The deployed networks of some draws; and which of them are known to within the radius.

    The streams 0, …, n − 1 are those of the clients; the first word of stream n chooses the client. A word
    between two cumulated shares chooses none: the draw is lost.

    Args:
        rule: whose weights choose.
        network: whose parameters are drawn.
        clients: in the order of the rule's weights.
        key: of the generator.
        numbers: of the draws.
        workers: threads.
    """
    first, last = words_of_components(rule.weights[:, 0].tolist())
    words = [_word(key, number, len(clients)) for number in numbers]
    ends = list(enumerate(zip(first, last, strict=True)))
    chosen = [next((i for i, (low, high) in ends if low <= word <= high), None) for word in words]
    radius = torch.stack([client.radius for client in clients]).amax(0)
    centre: Float64[Tensor, "B n_w"] = radius.new_zeros(len(numbers), len(radius))
    known = torch.zeros(len(numbers), dtype=torch.bool)
    for i, client in enumerate(clients):
        mine = [row for row, own in enumerate(chosen) if own == i]
        if mine:
            drawn = draw_words(key, [numbers[row] for row in mine], i, client.normals, workers)
            centre[mine], known[mine] = client.thetas(drawn)
    return Drawn(centre, largest_radii(radius * OUTWARD + TINY, network)), known


def _word(key: tuple[int, int], number: int, stream: int) -> int:
    counter = np.array([0, number, stream, 0], dtype=np.uint64)
    return int(np.random.Philox(key=np.array(key, dtype=np.uint64), counter=counter).random_raw(1)[0])
