"""Bounds that drawn networks share: equal layers have equal bounds, so fixed features are bounded once."""

from itertools import takewhile

import torch
from torch import Tensor

from fedcert.confidence.backward import tightened_bounds
from fedcert.confidence.chain import Affine, Chain, select
from fedcert.confidence.forward import Region


class SharedBounds:
    """Tightened bounds of the first layers, for each property, as long as all networks have these layers.

    The properties must be the same for all networks.
    """

    def __init__(self) -> None:
        self._reference: Chain | None = None
        self._shared = 0
        self._found: dict[int, list[Region]] = {}

    def meet(self, chain: Chain) -> None:
        """Forget what depends on layers that these networks do not share with all before.

        Args:
            chain: the layers of some networks.
        """
        if self._reference is None:
            self._reference, self._shared = select(chain, [0]), len(chain)
        pairs = zip(self._reference, chain, strict=True)
        equal = len(list(takewhile(lambda pair: _equal(*pair), pairs)))
        self._shared = min(self._shared, equal)
        self._found = {p: known[: self._shared + 1] for p, known in self._found.items()}

    def tightened(self, chain: Chain, properties: Tensor, x: Region) -> list[Region]:
        """`tightened_bounds`, of which those that networks share are computed once for each property.

        Args:
            chain: the layers of some of the networks, one for each property.
            properties: their places.
            x: bounds of the network's inputs, of shape (B, 1, p).
        """
        if not self._shared:
            return tightened_bounds(chain, x)
        asked = properties.tolist()
        for row, p in enumerate(asked):
            if p not in self._found:
                own = Region(x.centre[row : row + 1], x.radius[row : row + 1])
                self._found[p] = tightened_bounds(select(chain, [row])[: self._shared + 1], own)
        known = [
            Region(torch.cat([part.centre for part in parts]), torch.cat([part.radius for part in parts]))
            for parts in zip(*(self._found[p] for p in asked), strict=True)
        ]
        return tightened_bounds(chain, x, known)


def _equal(one: Affine | None, many: Affine | None) -> bool:
    """Whether a layer of one network is that of all the others."""
    if one is None or many is None:
        return one is many
    fields = ("weight_radius", "bias_radius", "bias", "weight")
    return all(bool((getattr(one, name) == getattr(many, name)).all()) for name in fields)
