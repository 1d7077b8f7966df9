"""What both federations share: the configuration of the run, the clients' data, and how they train."""

from dataclasses import dataclass, replace

import torch
from flwr.app import ArrayRecord, Context, UserConfig

from fedcert import Network
from fedcert.app.clients import choose_examples, form, scaled, train_client
from fedcert.app.config import RunConfig, make_config
from fedcert.flower import parameters_record, parameters_vector
from fedcert.laws.registry import StatedLaw

RUN = "run."
"""The prefix of the settings that are those of `fedcert run`."""


def run_settings(values: UserConfig) -> RunConfig:
    """The configuration of `fedcert run`; a dot in a name is a table."""
    settings: dict[str, object] = {}
    for name, value in values.items():
        if name.startswith(RUN):
            *tables, last = name.removeprefix(RUN).replace("-", "_").split(".")
            inner: dict[str, object] = settings
            for table in tables:
                inner = inner.setdefault(table, {})  # type: ignore[assignment]
            inner[last] = value
    return make_config(settings)


def initial_parameters(config: RunConfig) -> ArrayRecord:
    """The parameters that all clients start from."""
    federation = form(config, choose_examples(config))
    return parameters_record(federation.network, federation.initial)


@dataclass(frozen=True)
class Trained:
    """What a client has learned.

    Attributes:
        client: its name.
        network: what it trained.
        posterior: the law of the parameters.
        examples: the number of its examples.
    """

    client: str
    network: Network
    posterior: StatedLaw
    examples: int


def train(context: Context, initial: ArrayRecord) -> Trained:
    """Train the client that runs on this node, from the server's parameters."""
    torch.set_num_threads(1)  # the same sums on every machine, however many cores it has
    config = run_settings(context.run_config)
    federation = form(config, choose_examples(config))
    start = parameters_vector(federation.network, initial).float()
    client = int(context.node_config["partition-id"])
    law = train_client(config, replace(federation, initial=start), client).law
    name = federation.examples.names(config.clients)[client]
    return Trained(name, federation.network, scaled(law, config.scale), federation.sizes[client])
