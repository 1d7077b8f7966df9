"""What these examples share, and what is not about a library: three clients' flowers, a network, a loop."""

from collections.abc import Callable

import torch
from sklearn.datasets import load_iris
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

FLOWERS, SPECIES = (torch.from_numpy(own) for own in load_iris(return_X_y=True))
FLOWERS = FLOWERS.float() / 8  # centimetres as numbers of the unit interval
X, Y = FLOWERS[::15], SPECIES[::15]  # to be certified; no client trains on them
PLACES = [[i for i in range(150) if i % 15 and i % 3 == client] for client in range(3)]
CLIENTS = [(FLOWERS[places], SPECIES[places]) for places in PLACES]


def network() -> nn.Sequential:
    """The network that all clients start from."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def trained(
    model: nn.Module, x: Tensor, y: Tensor, penalty: Callable[[nn.Module], Tensor] | None = None
) -> nn.Module:
    """Train by Adam, all examples at once."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y) + (0.0 if penalty is None else penalty(model) / len(x))
        loss.backward()
        optimizer.step()
    return model
