"""What the strategy needs of whoever turns messages into certificates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from torch import nn

from fedcert.laws import Law
from fedcert.model.network import Network
from fedcert.rules import AggregationRule


@dataclass(frozen=True)
class Certified:
    """What was certified, and what is to be deployed.

    Attributes:
        laws: of the clients whose messages were accepted.
        rule: the rule for these clients.
        metrics: the bounds as numbers: `lower` and `upper`, of the mean probability over the properties.
        refused: messages that were refused and clients that sent none, with the reasons.
    """

    laws: Sequence[Law]
    rule: AggregationRule
    metrics: Mapping[str, float | list[float]]
    refused: Mapping[str, str]


@runtime_checkable
class Certifier(Protocol):
    """Reads the messages of a federation, certifies, and writes a run folder."""

    @property
    def clients(self) -> int:
        """The number of clients."""
        ...

    @property
    def model(self) -> Network | nn.Module:
        """The network that all clients train."""
        ...

    def certify(self, messages: Path, absent: Mapping[str, str], min_clients: int | None) -> Certified:
        """Certify the model that the messages in a folder deploy.

        Args:
            messages: the folder of the message files.
            absent: clients that sent no message file, with the reasons.
            min_clients: the minimum number of sound messages; None for one from every client.
        """
        ...
