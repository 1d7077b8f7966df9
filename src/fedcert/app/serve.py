"""The server alone: it reads messages from files, and does not trust the clients that sent them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from fedcert.app.claims import chosen_families
from fedcert.app.clients import Examples, choose_examples
from fedcert.app.config import RunConfig
from fedcert.app.inputs import count_of
from fedcert.app.journal import Once, afresh
from fedcert.app.parts import MESSAGE
from fedcert.app.run import RunResult, conclude, pose
from fedcert.app.stopwatch import Stopwatch
from fedcert.app.summary import identity_of, taking_part
from fedcert.errors import InvalidMessage, TooFewClients
from fedcert.families.protocol import CellFamily
from fedcert.federation.acceptance import Accepted, Expected, accept
from fedcert.model.network import Network, mlp
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream


@dataclass(frozen=True)
class Server:
    """What the server holds once it has received the messages.

    Attributes:
        config: describes the rule, the properties and the events, and says how many clients there are.
        examples: the server's own examples, for accuracy and properties.
        network: f_θ.
        initial: the parameters that all clients started from.
        accepted: the accepted messages, for which the rule is made.
    """

    config: RunConfig
    examples: Examples
    network: Network
    initial: Float[Tensor, "n_w"]
    accepted: Accepted

    @classmethod
    def receive(
        cls, config: RunConfig, messages: Path, min_clients: int | None = None, track: Tracker = silent
    ) -> "Server":
        """Read the messages in a folder, and refuse those that are not sound.

        The rule is made for the clients that remain: weights given by name (uniform or size) are shared
        out among them. Explicit weights say who takes part; they cannot be shared out.

        Args:
            config: what to certify.
            messages: the folder of the message files.
            min_clients: the minimum number of sound messages; None for one from every client.
            track: shows progress.
        """
        files = message_files(messages)
        examples = choose_examples(config, track)
        network = mlp(examples.test.x.shape[1], *config.hidden, examples.classes)
        makers = [family.name for family in chosen_families(config) if isinstance(family, CellFamily)]
        events = makers[0] if makers else None
        expected = Expected(config.clients, network.parameters, count_of(config, examples), events)
        accepted = accept(files, expected, min_clients)
        if len(accepted.messages) < config.clients and not isinstance(config.weights, str):
            raise TooFewClients(
                f"weights: given for {config.clients} clients, of which {len(accepted.messages)} sent a sound"
                " message: explicit weights cannot be shared out among the rest"
            )
        initial = network.initialise(stream(config.seed, "initialisation"))
        return cls(config, examples, network, initial, accepted)

    @property
    def identity(self) -> dict[str, Any]:
        """What determines the numbers: the configuration, and the accepted and refused messages."""
        return identity_of(self.config) | {
            "clients": [taking_part(message) for message in self.accepted.messages],
            "refused": self.accepted.refused,
        }

    def certify(self, track: Tracker = silent, once: Once = afresh) -> RunResult:
        """The certificates and estimates for the accepted messages, by the same code as in a run.

        Args:
            track: shows progress.
            once: makes each part, or reads it back if a process that was killed had made it.
        """
        config, watch = self.config, Stopwatch()
        received = [message.to(config.device) for message in self.accepted.messages]
        for message in received:
            once(f"messages/{message.client}.safetensors", partial(message.to, "cpu"), MESSAGE)
        with watch.stage("properties"):
            laws = [message.law for message in received]
            sizes = [message.examples for message in received]
            posed = pose(config, self.network, laws, sizes, self.initial, self.examples)
        refused = self.accepted.refused
        return conclude(config, self.examples, received, posed, watch, track, once, refused=refused)


def message_files(folder: Path) -> Sequence[Path]:
    """The message files in a folder."""
    if not folder.is_dir():
        problem = "this is not a folder" if folder.exists() else "this folder does not exist"
        raise InvalidMessage(f"{folder}: {problem}: --messages names the folder of the clients' messages")
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise InvalidMessage(f"{folder}: no message (*.safetensors) in this folder")
    return files
