"""Witnesses: what a checker needs, beyond the messages and the claim, to prove a certificate again."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Witness:
    """The choices that a search made: cells, tuples, radii. It is only data, and nothing trusts it.

    Attributes:
        tensors: by name; docs/certificate-format.md lists them for each kind of claim and family of events.
    """

    tensors: Mapping[str, Tensor]
