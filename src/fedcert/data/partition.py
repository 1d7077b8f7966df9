"""Label-Dirichlet partition of the training data among clients."""

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from fedcert.errors import DataError, InvalidConfig

ATTEMPTS = 100


def dirichlet_partition(
    label: Int64[Tensor, "n"], clients: int, concentration: float, generator: torch.Generator
) -> list[Int64[Tensor, " m"]]:
    """Split each class among the clients with shares drawn from Dirichlet(α, …, α).

    Every example goes to exactly one client. A draw that leaves a client empty is drawn again, up to
    100 times; then the setting is refused.

    Args:
        label: the class of each training example.
        clients: n, the number of clients.
        concentration: α > 0; smaller is more skewed.
        generator: the source of randomness.
    """
    if clients < 1 or not 0 < concentration < float("inf"):
        raise InvalidConfig(
            f"a partition needs clients ≥ 1 and a concentration > 0, not {clients}, {concentration}"
        )
    if len(label) == 0:
        raise DataError("there are no examples to split among the clients")
    seed = torch.randint(2**62, (), generator=generator).item()
    rng = np.random.default_rng(int(seed))
    for _ in range(ATTEMPTS):
        shards = _draw(label.numpy(), clients, concentration, rng)
        if all(len(shard) for shard in shards):
            return [torch.from_numpy(shard) for shard in shards]
    raise DataError(
        f"{len(label)} examples cannot be split among {clients} clients at concentration"
        f" {concentration} without leaving one empty ({ATTEMPTS} draws): use fewer clients or a"
        " larger concentration"
    )


def _draw(
    label: "Int64[np.ndarray, ' n']", clients: int, concentration: float, rng: np.random.Generator
) -> "list[Int64[np.ndarray, ' m']]":
    shards: list[list[np.ndarray]] = [[] for _ in range(clients)]
    for c in np.unique(label):
        members = rng.permutation(np.flatnonzero(label == c))
        shares = rng.dirichlet(np.full(clients, concentration))
        cuts = np.rint(np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
        for shard, part in zip(shards, np.split(members, cuts), strict=True):
            shard.append(part)
    return [np.sort(np.concatenate(shard)) for shard in shards]
