"""What every reader returns: a network and a law of its parameters."""

from dataclasses import dataclass

from fedcert.errors import ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.laws.registry import StatedLaw
from fedcert.model.network import Network
from fedcert.wire.message import Message


@dataclass(frozen=True)
class Posterior:
    """A client's posterior, with the network that its parameters belong to.

    Attributes:
        network: what a parameter vector θ computes.
        law: of θ.

    Examples:
        >>> import torch, fedcert
        >>> law = fedcert.DiagonalGaussian(torch.zeros(6).double(), torch.ones(6).double())
        >>> Posterior(fedcert.mlp(2, 2), law).message("clinic-a", examples=120).client
        'clinic-a'
    """

    network: Network
    law: StatedLaw

    def __post_init__(self) -> None:
        if self.law.dimension != self.network.parameters:
            raise ShapeMismatch(
                f"a law of {self.law.dimension} parameters for a network of {self.network.parameters}"
            )

    def message(self, client: str, examples: int) -> Message:
        """What the client sends.

        Args:
            client: its name.
            examples: the number of examples that it was trained on.
        """
        return Message(client, self.law, Cells.none(self.law.dimension), examples)
