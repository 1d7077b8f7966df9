"""The server: messages in, certificates out."""

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.errors import InvalidConfig, InvalidMessage
from fedcert.families.problem import Problem, SentCells
from fedcert.families.protocol import Family
from fedcert.families.registry import family_named
from fedcert.federation.claims import claims_of
from fedcert.laws import DiagonalLaw
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.progress import Tracker, silent
from fedcert.rules import (
    AggregationRule,
    CoordinateMedian,
    LinearRule,
    TrimmedMean,
    WeightedAverage,
)
from fedcert.wire.message import Message

RuleName = Literal["fedavg", "pog", "linear", "server-step", "median", "trimmed-mean"]
WeightsName = Literal["uniform", "size"]


def deployed_rule(
    name: RuleName,
    laws: Sequence[DiagonalLaw],
    sizes: Sequence[int],
    weights: WeightsName | Sequence[float] = "uniform",
    trim: int = 1,
    initial: Float64[Tensor, "n_w"] | None = None,
    rate: float = 1.0,
) -> AggregationRule:
    """The aggregation rule of this name for these clients.

    Args:
        name: the rule.
        laws: the clients' posteriors, whose precisions weigh a Product-of-Gaussians.
        sizes: the clients' numbers of examples.
        weights: weights of FedAvg and of a server step, equal or proportional to the sizes; or one number
            a client, for FedAvg and for a linear rule, where they may be negative.
        trim: how many values a trimmed mean drops at each end.
        initial: θ_0 of a server step, the parameters that all clients started from.
        rate: η of a server step.
    """
    shares = list(sizes) if weights == "size" else [1] * len(laws)
    match name:
        case "linear":
            return LinearRule(_column(weights, laws))
        case "fedavg" if not isinstance(weights, str):
            return WeightedAverage(_column(weights, laws), name)
        case "fedavg":
            return WeightedAverage.fedavg(shares).to(laws[0].loc.device)
        case "pog":
            return WeightedAverage.product_of_gaussians(laws)
        case "server-step":
            if initial is None:
                raise InvalidConfig("a server step needs the parameters that the clients started from")
            return LinearRule.server_step(initial.to(laws[0].loc), rate, shares)
        case "median":
            return CoordinateMedian(len(laws))
        case "trimmed-mean":
            return TrimmedMean(len(laws), trim)


def _column(weights: WeightsName | Sequence[float], laws: Sequence[DiagonalLaw]) -> Tensor:
    """Explicit weights, one a client."""
    if isinstance(weights, str) or len(weights) != len(laws):
        raise InvalidConfig(f"one weight a client is needed: {len(laws)} numbers, not {weights}")
    return torch.tensor([[w] for w in weights], dtype=torch.float64, device=laws[0].loc.device)


def problem_of(
    messages: Sequence[Message], rule: AggregationRule, network: Network, properties: Properties
) -> Problem:
    """What the messages of a federation ask: their laws and cells, under the rule that is deployed.

    Of a cell's claimed mass and the one that is computed here, the smaller is used.

    Args:
        messages: what the clients sent, in the order of the rule's weights.
        rule: the deployed rule.
        network: f_θ.
        properties: what is safe.
    """
    names = [message.client for message in messages]
    if len(set(names)) < len(names):
        raise InvalidMessage(f"two messages of one client: {sorted(names)}; its draws are not independent")
    sent = SentCells(
        {message.client: message.events for message in messages},
        tuple(message.verified_cells for message in messages),
    )
    return Problem(network, properties, tuple(message.law for message in messages), rule, sent)


def server(
    messages: Sequence[Message],
    rule: AggregationRule,
    network: Network,
    properties: Properties,
    events: Sequence[Family | str] = ("projected",),
    track: Tracker = silent,
) -> Iterator[Certificate]:
    """The certificates of all kinds that some families of events have, one after the other.

    A rule without a closed-form deployed law (a median, a trimmed mean) has no direct certificate.

    Args:
        messages: what the clients sent.
        rule: the deployed rule.
        network: f_θ.
        properties: what is safe.
        events: the families, or their names.
        track: shows progress.
    """
    families = [family_named(own) if isinstance(own, str) else own for own in events]
    for _, prove in claims_of(problem_of(messages, rule, network, properties), families, track=track):
        yield prove()
