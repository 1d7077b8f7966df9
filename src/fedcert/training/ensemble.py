"""A deep ensemble: several trainings of one client, as a mixture of their laws."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedcert.errors import InvalidConfig
from fedcert.laws import GaussianMixture
from fedcert.model.network import Network
from fedcert.progress import Tracker, silent
from fedcert.training.laplace import Laplace


@dataclass(frozen=True)
class Ensemble:
    """The mixture, in equal parts, of Laplace's approximations around several modes.

    All members start from the shared initialisation and see their batches in orders of their own: servers
    average parameters, and parameters of networks that started apart have no meaningful average.

    Attributes:
        member: how each member is trained.
        members: their number.
    """

    member: Laplace
    members: int = 3

    def __post_init__(self) -> None:
        if self.members < 1:
            raise InvalidConfig(f"members: an ensemble needs at least one, not {self.members}")

    def __call__(
        self,
        network: Network,
        x: Float[Tensor, "n p"],
        label: Int[Tensor, "n"],
        initial: Float[Tensor, "n_w"],
        generator: torch.Generator,
        track: Tracker = silent,
    ) -> GaussianMixture:
        """Train the members one after the other; more members leave the first ones as they are.

        Args:
            network: f_θ.
            x: the client's inputs.
            label: their classes.
            initial: where all members of all clients start.
            generator: the source of randomness.
            track: shows progress.
        """
        laws = [
            self.member(network, x, label, initial, generator)
            for _ in track(range(self.members), "training members", self.members)
        ]
        return GaussianMixture(tuple(laws), torch.ones(self.members, dtype=torch.float64))
