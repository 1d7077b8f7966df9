"""Named rules: how a name in a configuration becomes a rule for given clients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidConfig
from fedcert.laws import DiagonalLaw
from fedcert.rules.linear import LinearRule
from fedcert.rules.protocol import AggregationRule
from fedcert.rules.trimmed_mean import TrimmedMean

WeightsName = Literal["uniform", "size"]


@dataclass(frozen=True)
class RuleContext:
    """What a rule may depend on: the clients, and the settings of a run.

    Attributes:
        laws: the clients' posteriors, whose precisions weigh a Product-of-Gaussians.
        sizes: the clients' numbers of examples.
        weights: weights of FedAvg and of a server step, equal or proportional to the sizes; or one number
            for each client, for FedAvg and for a linear rule, where they may be negative.
        trim: how many values a trimmed mean drops at each end.
        initial: θ_0 of a server step, the parameters that all clients started from.
        rate: η of a server step.
    """

    laws: Sequence[DiagonalLaw]
    sizes: Sequence[int]
    weights: WeightsName | Sequence[float] = "uniform"
    trim: int = 1
    initial: Float64[Tensor, "n_w"] | None = None
    rate: float = 1.0

    @property
    def clients(self) -> int:
        """n, the number of clients."""
        return len(self.laws)

    @property
    def shares(self) -> list[int]:
        """What weights are proportional to: the sizes, or one for each client."""
        return list(self.sizes) if self.weights == "size" else [1] * self.clients

    @property
    def explicit_weights(self) -> Float64[Tensor, "n 1"]:
        """The weights that were given as numbers; an error where there is not one for each client."""
        if isinstance(self.weights, str) or len(self.weights) != self.clients:
            raise InvalidConfig(
                f"one weight for each client is needed: {self.clients} numbers, not {self.weights}"
            )
        return torch.tensor(
            [[weight] for weight in self.weights], dtype=torch.float64, device=self.laws[0].loc.device
        )


@dataclass(frozen=True)
class RuleBuilder:
    """A rule under a name that configurations use.

    Attributes:
        name: also the name of the rules that it builds.
        build: makes the rule for some clients.
    """

    name: str
    build: Callable[[RuleContext], AggregationRule]


def _fedavg(context: RuleContext) -> AggregationRule:
    if not isinstance(context.weights, str):
        return LinearRule.average(context.explicit_weights, "fedavg")
    return LinearRule.fedavg(context.shares).to(context.laws[0].loc.device)


def _product_of_gaussians(context: RuleContext) -> AggregationRule:
    return LinearRule.product_of_gaussians(context.laws)


def _linear(context: RuleContext) -> AggregationRule:
    return LinearRule(context.explicit_weights)


def _server_step(context: RuleContext) -> AggregationRule:
    if context.initial is None:
        raise InvalidConfig("a server step needs the parameters that the clients started from")
    return LinearRule.server_step(context.initial.to(context.laws[0].loc), context.rate, context.shares)


def _median(context: RuleContext) -> AggregationRule:
    return TrimmedMean.median(context.clients)


def _trimmed_mean(context: RuleContext) -> AggregationRule:
    return TrimmedMean(context.clients, context.trim)


BUILDERS = (
    RuleBuilder("fedavg", _fedavg),
    RuleBuilder("pog", _product_of_gaussians),
    RuleBuilder("linear", _linear),
    RuleBuilder("server-step", _server_step),
    RuleBuilder("median", _median),
    RuleBuilder("trimmed-mean", _trimmed_mean),
)
