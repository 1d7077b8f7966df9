"""Verifiers: SAFE(H). True only where the property is proven for the whole parameter box."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool
from torch import Tensor

from fedcert.errors import ShapeMismatch
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.numerics.rounding import require_gradual_underflow

BATCH_ELEMENTS = 2**20  # parameters a verifier call works on at a time; bounds the memory


@runtime_checkable
class Verifier(Protocol):
    """SAFE: for each parameter box and property, whether safety is proven.

    True means that C f_θ(x) + d ≥ 0 holds in real arithmetic for every θ in the box and every x in the
    property's region. False means nothing at all.

    Examples:
        >>> from fedcert import IntervalVerifier
        >>> isinstance(IntervalVerifier(), Verifier)
        True
    """

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> Bool[Tensor, "B P"]:
        """Verify every box for every property."""
        ...


@dataclass(frozen=True)
class AnyOf:
    """Proven where any of several verifiers proves it.

    Attributes:
        verifiers: tried one after the other.
    """

    verifiers: tuple[Verifier, ...]

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> Bool[Tensor, "B P"]:
        """Whether some verifier proves each box and property; what is proven is not tried again."""
        proven = torch.zeros(len(boxes), properties.C.shape[-3], dtype=torch.bool, device=boxes.lower.device)
        for verifier in self.verifiers:
            left = ~proven.all(-1)
            if left.any():
                theirs = properties[left] if properties.C.dim() == 4 else properties
                proven[left] |= verifier(network, boxes[left], theirs)
        return proven


@dataclass(frozen=True)
class Safe:
    """SAFE for one network, a batch of properties and a verifier: boxes in, proofs out.

    Attributes:
        network: the network whose parameters the boxes hold.
        properties: the properties to prove.
        verifier: the method of proof.

    Examples:
        >>> from fedcert import IntervalVerifier, linf_robustness, mlp
        >>> safe = Safe(mlp(1, 2), linf_robustness([[0.5]], [0], 0.1, classes=2), IntervalVerifier())
        >>> safe(Box.point(torch.tensor([[1.0, 0.0, 0.0, 0.0]]).double())).tolist()  # f(x) = (x, 0)
        [[True]]
    """

    network: Network
    properties: Properties
    verifier: Verifier

    def __post_init__(self) -> None:
        if self.properties.C.dim() != 3:
            raise ShapeMismatch("properties paired with boxes are for a verifier; Safe pairs them itself")

    def __call__(self, boxes: Box) -> Bool[Tensor, "B P"]:
        """Which boxes are proven safe for which properties; long batches go in pieces."""
        require_gradual_underflow()
        verdicts = [self.verifier(self.network, boxes[p], self.properties) for p in pieces(boxes)]
        return _verdict(torch.cat(verdicts), len(boxes), len(self.properties))

    def pairs(self, boxes: Box) -> Bool[Tensor, "P"]:
        """Whether box j is proven safe for property j, for each of P boxes."""
        if len(boxes) != len(self.properties):
            raise ShapeMismatch(f"{len(boxes)} boxes cannot be paired with {len(self.properties)} properties")
        require_gradual_underflow()
        verdicts = [self.verifier(self.network, boxes[p], self.properties[p].each()) for p in pieces(boxes)]
        return _verdict(torch.cat(verdicts), len(boxes), 1).squeeze(-1)

    def only(self, selected: Bool[Tensor, "P"]) -> "Safe":
        """The same for the selected properties alone."""
        return Safe(self.network, self.properties[selected], self.verifier)


def _verdict(proven: Tensor, boxes: int, properties: int) -> Bool[Tensor, "B P"]:
    """The verdicts, if they are what was asked for: one truth value a box and property."""
    if proven.dtype != torch.bool or tuple(proven.shape) != (boxes, properties):
        raise ShapeMismatch(
            f"a verifier answered {tuple(proven.shape)} values of {proven.dtype} for {boxes} boxes and"
            f" {properties} properties"
        )
    return proven


def pieces(boxes: Box | Tensor) -> Iterator[slice]:
    """Slices of the batch that bound the memory; an empty batch is one empty slice."""
    size = max(1, BATCH_ELEMENTS // max(1, boxes.shape[-1]))
    for start in range(0, max(1, len(boxes)), size):
        yield slice(start, start + size)
