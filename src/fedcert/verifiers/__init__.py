"""Verifiers: SAFE(H). True only where the property is proven for the whole parameter box."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool
from torch import Tensor

from fedcert.box import Box
from fedcert.networks import Network
from fedcert.properties import Properties

BATCH_ELEMENTS = 2**20  # parameters a verifier call works on at a time; bounds the memory


@runtime_checkable
class Verifier(Protocol):
    """SAFE: for each parameter box and property, whether safety is proven.

    True means that C f_θ(x) + d ≥ 0 holds in real arithmetic for every θ in the box and every x in the
    property's region. False means nothing at all.
    """

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> Bool[Tensor, "B P"]:
        """Verify every box for every property."""
        ...


@dataclass(frozen=True)
class Safe:
    """SAFE for one network, a batch of properties and a verifier: boxes in, proofs out.

    Attributes:
        network: the network whose parameters the boxes hold.
        properties: the properties to prove.
        verifier: the method of proof.
    """

    network: Network
    properties: Properties
    verifier: Verifier

    def __call__(self, boxes: Box) -> Bool[Tensor, "B P"]:
        """Which boxes are proven safe for which properties; long batches go in pieces."""
        return torch.cat([self.verifier(self.network, piece, self.properties) for piece in pieces(boxes)])

    def only(self, selected: Bool[Tensor, "P"]) -> "Safe":
        """The same for the selected properties alone."""
        return Safe(self.network, self.properties[selected], self.verifier)


def pieces(boxes: Box) -> Iterator[Box]:
    """The boxes in batches of bounded memory; an empty batch is one empty piece."""
    size = max(1, BATCH_ELEMENTS // max(1, boxes.shape[-1]))
    for start in range(0, max(1, len(boxes)), size):
        yield boxes[start : start + size]
