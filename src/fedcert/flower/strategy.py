"""The strategy: one round, in which clients send posteriors, and the server deploys and certifies."""

import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.common.logger import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg, Result

from fedcert.errors import FedcertError, InvalidConfig, TooFewClients
from fedcert.federation.deployment import deployed_parameters
from fedcert.flower.certifier import Certified, Certifier
from fedcert.flower.parameters import parameters_record
from fedcert.flower.posteriors import unpack
from fedcert.wire import atomic
from fedcert_check.visible import visible

POLL_SECONDS = 0.5  # between two looks at who is connected
MAX_REASON = 300
"""Characters of a client's own error that are kept."""


COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


class CertifiedFedAvg(FedAvg):
    """FedAvg of posteriors in one round, with a certificate of the model that is deployed.

    Each client replies to the one training message with `pack(posterior, …)`. The server refuses what is no
    sound message, aggregates the others by the certifier's rule, certifies, and writes a run folder that
    `fedcert check` proves.

    The arrays of the result are *one draw* of the deployed law, which is what the certificate speaks of: it
    holds for no other parameters, such as the mean. They are in double precision and named like the model's
    state dict. The metrics of the result are the certifier's, `lower` and `upper` among them, and how many
    clients took part (`clients`) and did not (`refused`).

    Attributes:
        certifier: says what is certified, and where the run is written.
        min_clients: the minimum number of sound messages; None for one from every client.
        connect_timeout: seconds to wait for all clients to connect.
        certified: what was certified, once the round is over.
    """

    def __init__(
        self,
        certifier: Certifier,
        min_clients: int | None = None,
        connect_timeout: float = 60.0,
        generator: torch.Generator | None = None,
        **settings: Any,
    ) -> None:
        """Set up the round.

        Args:
            certifier: says what is certified, and where the run is written.
            min_clients: the minimum number of sound messages; None for one from every client.
            connect_timeout: seconds to wait for all clients to connect; then those that are connected are
                asked, if `min_clients` allows it.
            generator: draws the deployed parameters; None for one that the operating system seeds, since
                nobody who states a law may know the draw.
            settings: of Flower's FedAvg: how clients evaluate, and the keys of records.
        """
        wrong = sorted({"fraction_train", "min_train_nodes", "min_available_nodes"} & set(settings))
        if wrong:
            raise InvalidConfig(f"{wrong[0]}: all clients train: say with min_clients how many will do")
        if min_clients is not None and not 1 <= min_clients <= certifier.clients:
            raise InvalidConfig(f"min_clients: between 1 and {certifier.clients}, not {min_clients}")
        super().__init__(**settings)
        self.certifier = certifier
        self.min_clients = min_clients
        self.connect_timeout = connect_timeout
        self.certified: Certified | None = None
        self._generator = generator
        self._asked: list[int] = []

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 1,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Run the one round.

        Args:
            grid: sends messages to the clients.
            initial_arrays: the parameters that all clients start from.
            num_rounds: 1: posteriors are sent once.
            timeout: seconds to wait for the clients' replies.
            train_config: what clients are told for training.
            evaluate_config: what clients are told for evaluation.
            evaluate_fn: evaluates on the server: the initial parameters, and those that are deployed.
        """
        if num_rounds != 1:
            raise InvalidConfig(f"num_rounds: {num_rounds}: posteriors are sent once, in one round")
        return super().start(grid, initial_arrays, 1, timeout, train_config, evaluate_config, evaluate_fn)

    def summary(self) -> None:
        """Log what will be done."""
        needed = self.certifier.clients if self.min_clients is None else self.min_clients
        log(
            INFO,
            "\t└──> %d clients, at least %d of them with a sound posterior",
            self.certifier.clients,
            needed,
        )

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask every connected client for its posterior.

        Args:
            server_round: 1.
            arrays: the parameters that all clients start from.
            config: what the clients are told besides.
            grid: knows who is connected.
        """
        self._asked = self._connected(grid)
        config["server-round"] = server_round
        record = RecordDict({self.arrayrecord_key: arrays, self.configrecord_key: config})
        return list(self._construct_messages(record, self._asked, MessageType.TRAIN))

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Certify the model that the clients' posteriors deploy, and draw it.

        Args:
            server_round: 1.
            replies: what the clients sent.
        """
        with tempfile.TemporaryDirectory(prefix="fedcert-") as inbox:
            absent = receive(replies, self._asked, Path(inbox))
            done = self.certifier.certify(Path(inbox), absent, self.min_clients)
        for name, reason in done.refused.items():
            log(WARNING, "refused: %s: %s", name, reason)
        generator = self._generator
        if generator is None:
            generator = torch.Generator()
            generator.seed()
        self.certified = done
        theta = deployed_parameters(done.laws, done.rule, generator)
        counts = {"clients": len(done.laws), "refused": len(done.refused)}
        return parameters_record(self.certifier.model, theta), MetricRecord({**done.metrics, **counts})

    def _connected(self, grid: Grid) -> list[int]:
        """The nodes that are connected: all clients, or as many as there are when the time is over."""
        clients, deadline = self.certifier.clients, time.monotonic() + self.connect_timeout
        while len(nodes := sorted(grid.get_node_ids())) < clients and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        needed = clients if self.min_clients is None else self.min_clients
        if len(nodes) < needed:
            raise TooFewClients(
                f"{len(nodes)} of {clients} clients connected within {self.connect_timeout:g} s, but {needed}"
                " are needed: start the others, or lower min_clients"
            )
        if len(nodes) > clients:
            raise InvalidConfig(f"{len(nodes)} nodes are connected, but there are {clients} clients")
        return nodes


def receive(replies: Iterable[Message], asked: Iterable[int], inbox: Path) -> Mapping[str, str]:
    """Write each message that came to a file; returns the clients without one, with the reasons.

    Args:
        replies: what the clients sent.
        asked: the nodes that were asked.
        inbox: the folder for the files, named by the nodes.
    """
    absent = {name_of(node): "no reply in time" for node in asked}
    for reply in replies:
        name = name_of(reply.metadata.src_node_id)
        if reply.has_error():
            absent[name] = f"the client failed: {cause(str(reply.error.reason))}"
            continue
        try:
            content = unpack(reply.content)
        except FedcertError as error:
            absent[name] = str(error)
            continue
        atomic.write(inbox / f"{name}.safetensors", content)
        absent.pop(name, None)
    return absent


def cause(reason: str) -> str:
    r"""The cause of a client's failure: the last line of what may be a traceback, without colours.

    >>> cause("\x1b[36mray::run()\x1b[39m\n  File …\nValueError: no data\n")
    'ValueError: no data'

    Args:
        reason: what the node reports.
    """
    lines = [line.strip() for line in COLOURS.sub("", reason).splitlines() if line.strip()]
    return visible(lines[-1] if lines else "it gives no reason")[:MAX_REASON]


def name_of(node: int) -> str:
    """What a node is called in errors and in result.json, before anything that it says is believed."""
    return f"node-{node}"
