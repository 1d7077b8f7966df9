"""The server alone: it reads messages from files, and does not trust the clients that sent them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fedcert.app.claims import chosen_families
from fedcert.app.clients import Examples, choose_examples, network_of
from fedcert.app.config import RunConfig
from fedcert.app.engines import Engine
from fedcert.app.given import GivenInputs
from fedcert.app.inputs import count_of
from fedcert.app.journal import Once, afresh
from fedcert.app.parts import MESSAGE
from fedcert.app.posing import pose, pose_given
from fedcert.app.run import RunResult, conclude
from fedcert.app.stopwatch import Stopwatch
from fedcert.app.summary import identity_of, taking_part
from fedcert.errors import InvalidConfig, InvalidMessage, TooFewClients
from fedcert.families.protocol import CellFamily
from fedcert.federation.acceptance import Accepted, Expected, accept
from fedcert.model.network import Network
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream


@dataclass(frozen=True)
class Server:
    """What the server holds once it has received the messages.

    Attributes:
        config: describes the rule, the properties and the events, and says how many clients there are.
        inputs: the server's own examples, for accuracy and properties; or what a user gave in their place.
        network: f_θ.
        accepted: the accepted messages, for which the rule is made.
    """

    config: RunConfig
    inputs: Examples | GivenInputs
    network: Network
    accepted: Accepted

    @classmethod
    def receive(
        cls,
        config: RunConfig,
        messages: Path | Sequence[Path],
        min_clients: int | None = None,
        track: Tracker = silent,
        absent: Mapping[str, str] | None = None,
    ) -> "Server":
        """Read message files, and refuse those that are not sound.

        The rule is made for the clients that remain: weights given by name (uniform or size) are shared
        out among them. Explicit weights say who takes part; they cannot be shared out.

        Args:
            config: what to certify.
            messages: the message files, or the folder that holds them.
            min_clients: the minimum number of sound messages; None for one from every client.
            track: shows progress.
            absent: clients that sent no message file, with the reasons, where these are known.
        """
        files = message_files(messages) if isinstance(messages, Path) else messages
        inputs: Examples | GivenInputs
        names: tuple[str, ...] = ()
        if config.given is not None:
            inputs, network = config.given.inputs(config.dataset), config.given.network
            count = len(inputs)
            _require_labels(config, inputs)
        else:
            inputs = choose_examples(config, track)
            network = network_of(config, inputs)
            count, names = count_of(config, inputs), inputs.clients or ()
        makers = [family.name for family in chosen_families(config) if isinstance(family, CellFamily)]
        events = makers[0] if makers else None
        expected = Expected(config.clients, network.parameters, count, events, names=names)
        accepted = accept(files, expected, min_clients, absent)
        if len(accepted.messages) < config.clients and not isinstance(config.weights, str):
            raise TooFewClients(
                f"weights: given for {config.clients} clients, of which {len(accepted.messages)} sent a sound"
                " message: explicit weights cannot be shared out among the rest"
            )
        return cls(config, inputs, network, accepted)

    @property
    def identity(self) -> dict[str, Any]:
        """What determines the numbers: the configuration, and the accepted and refused messages."""
        return identity_of(self.config) | {
            "clients": [taking_part(message) for message in self.accepted.messages],
            "refused": self.accepted.refused,
        }

    def certify(
        self, track: Tracker = silent, once: Once = afresh, engine: Engine | None = None
    ) -> RunResult:
        """The certificates and estimates for the accepted messages, by the same code as in a run.

        Args:
            track: shows progress.
            once: makes each part, or reads it back if a process that was killed had made it.
            engine: certifies and samples, piece by piece of the inputs; this process where None.
        """
        config, watch = self.config, Stopwatch()
        received = [message.to(config.device) for message in self.accepted.messages]
        for message in received:
            once(f"messages/{message.client}.safetensors", partial(message.to, "cpu"), MESSAGE)
        with watch.stage("properties"):
            laws = [message.law for message in received]
            sizes = [message.examples for message in received]
            if isinstance(self.inputs, GivenInputs):
                examples, posed = None, pose_given(config, self.network, laws, sizes, self.inputs)
            else:
                examples, initial = (
                    self.inputs,
                    self.network.initialise(stream(config.seed, "initialisation")),
                )
                posed = pose(config, self.network, laws, sizes, initial, examples)
        refused = self.accepted.refused
        return conclude(config, examples, received, posed, watch, track, once, refused=refused, engine=engine)


def _require_labels(config: RunConfig, inputs: GivenInputs) -> None:
    """Refuse settings that speak of labels where there are constraints."""
    for name, value in (("margin", config.margin), ("softmax-margins", config.softmax_margins)):
        if value and inputs.label is None:
            raise InvalidConfig(f"{name}: there are no labels that could win by a margin, only constraints")


def named_files(paths: Sequence[Path]) -> list[Path]:
    """The message files among some paths, each of which is a file or a folder of them.

    Args:
        paths: as a user gives them.
    """
    found = [file for path in paths for file in (message_files(path) if path.is_dir() else [path])]
    twice = [file for i, file in enumerate(found) if file.absolute() in [own.absolute() for own in found[:i]]]
    if twice:
        raise InvalidMessage(f"{twice[0]}: named twice: one message a client")
    return found


def message_files(folder: Path) -> Sequence[Path]:
    """The message files in a folder."""
    if not folder.is_dir():
        problem = "this is not a folder" if folder.exists() else "this folder does not exist"
        raise InvalidMessage(f"{folder}: {problem}: --messages names the folder of the clients' messages")
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise InvalidMessage(f"{folder}: no message (*.safetensors) in this folder")
    return files
