"""What a trainer must offer."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedcert.laws.registry import StatedLaw
from fedcert.model.network import Network
from fedcert.progress import Tracker, silent


@runtime_checkable
class Trainer(Protocol):
    """Makes a client's posterior from its examples; the generator is the only source of randomness."""

    def __call__(
        self,
        network: Network,
        x: Float[Tensor, "n p"],
        label: Int[Tensor, "n"],
        initial: Float[Tensor, "n_w"],
        generator: torch.Generator,
        track: Tracker = silent,
    ) -> StatedLaw:
        """The posterior of a client that starts from the initialisation that all clients share."""
        ...
