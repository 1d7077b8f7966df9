"""Certifies properties of a model that the caller gives."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from torch import nn

from fedcert.api.certify import certify
from fedcert.api.inputs import as_network
from fedcert.api.result import require_no_run
from fedcert.certificate import Kind
from fedcert.families.protocol import Family
from fedcert.federation.acceptance import Expected, accept
from fedcert.flower.certifier import Certified
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.rules import AggregationRule
from fedcert.rules.builders import WeightsName
from fedcert.wire import atomic
from fedcert_check.run_folder.compare import REFUSED


@dataclass(frozen=True, eq=False)
class PropertyCertifier:
    """Certifies properties of a model, as `fedcert.certify` does.

    Who was refused, and why, is written to refused.json in the folder.

    Attributes:
        model: the network or torch module that all clients train.
        properties: what is safe, as from `linf_robustness`.
        clients: the number of clients.
        out: the run folder, to be written; it must not hold a run.
        rule: how the server aggregates: the name of a rule, or a rule for all clients.
        weights: of a rule that is given by its name: "uniform", or "size" for the numbers of examples.
        events: the families of events, or their names.
        claims: the kinds of claims to prove.
    """

    model: Network | nn.Module
    properties: Properties
    clients: int
    out: str | PathLike[str]
    rule: AggregationRule | str = "fedavg"
    weights: WeightsName = "uniform"
    events: str | Sequence[str | Family] = "projected"
    claims: Sequence[Kind] = ("transported", "direct")

    def __post_init__(self) -> None:
        require_no_run(Path(self.out))  # before anybody trains

    def certify(self, messages: Path, absent: Mapping[str, str], min_clients: int | None) -> Certified:
        """Certify the model that the messages in a folder deploy.

        Args:
            messages: the folder of the message files.
            absent: clients that sent no message file, with the reasons.
            min_clients: the minimum number of sound messages; None for one from every client.
        """
        network = as_network(self.model)
        expected = Expected(self.clients, network.parameters, len(self.properties), events=None)
        accepted = accept(sorted(messages.glob("*.safetensors")), expected, min_clients, absent)
        found = certify(
            accepted.messages,
            self.rule,
            network,
            self.properties,
            events=self.events,
            claims=self.claims,
            weights=self.weights,
        )
        found.save(self.out)
        if accepted.refused:
            atomic.write(Path(self.out) / REFUSED, json.dumps(accepted.refused, indent=2) + "\n")
        bounds = {"lower": found.mean_lower, "upper": found.mean_upper}
        return Certified(found.problem.laws, found.problem.rule, bounds, accepted.refused)
