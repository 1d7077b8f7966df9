"""Certifies what a configuration of `fedcert run` asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from fedcert.app.clients import choose_examples, network_of
from fedcert.app.config import RunConfig
from fedcert.app.output import carry_out, check_output
from fedcert.app.posing import make_rules
from fedcert.app.records import Summary
from fedcert.app.serve import Server
from fedcert.flower.certifier import Certified
from fedcert.model.network import Network
from fedcert.randomness import stream


@dataclass(frozen=True, eq=False)
class RunCertifier:
    """Certifies as `fedcert certify` does; from the messages of `fedcert run` the same certificates.

    Attributes:
        config: describes the data, the network, the rule, the properties and the events.
        out: the run folder, to be written.
        overwrite: whether an earlier run there may be replaced.
    """

    config: RunConfig
    out: str | PathLike[str]
    overwrite: bool = False

    def __post_init__(self) -> None:
        check_output(Path(self.out), self.overwrite)  # before anybody trains

    @property
    def clients(self) -> int:
        """The number of clients."""
        return self.config.clients

    @cached_property
    def model(self) -> Network:
        """The network that all clients train."""
        if self.config.given is not None:
            return self.config.given.network
        return network_of(self.config, choose_examples(self.config))

    def certify(self, messages: Path, absent: Mapping[str, str], min_clients: int | None) -> Certified:
        """Certify the model that the messages in a folder deploy.

        Args:
            messages: the folder of the message files.
            absent: clients that sent no message file, with the reasons.
            min_clients: the minimum number of sound messages; None for one from every client.
        """
        files = sorted(messages.glob("*.safetensors"))
        server = Server.receive(self.config, files, min_clients, absent=absent)
        out, work = Path(self.out), lambda once: server.certify(once=once)
        summary = carry_out(work, out, server.identity, self.overwrite)
        accepted = server.accepted.messages
        laws = [message.law for message in accepted]
        sizes = [message.examples for message in accepted]
        given = self.config.given is not None
        initial = None if given else server.network.initialise(stream(self.config.seed, "initialisation"))
        rule = make_rules(self.config, laws, sizes, initial)[self.config.rule]
        return Certified(laws, rule, self._metrics(summary), server.accepted.refused)

    def _metrics(self, summary: Summary) -> dict[str, float | list[float]]:
        """The best proven bounds of the deployed model at each radius."""
        lower, upper = [], []
        for epsilon in self.config.epsilon:
            rows = [
                row
                for row in summary["summary"]
                if (row["epsilon"], row["rule"]) == (epsilon, self.config.rule) and row["claim"] != "local"
            ]
            lower.append(max((row["lower"] for row in rows), default=0.0))
            upper.append(min((row["upper"] for row in rows if row["upper"] is not None), default=1.0))
        return {"epsilon": list(self.config.epsilon), "lower": lower, "upper": upper}
