"""Named rules: how a name in a configuration becomes a rule for given clients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import torch
from jaxtyping import Float64
from torch import Tensor

from fedcert.errors import InvalidArgument, InvalidConfig, InvalidLaw
from fedcert.laws import DiagonalLaw, GaussianLaw, Law, diagonal_components, is_diagonal
from fedcert.rules import published
from fedcert.rules.dense_product import dense_product
from fedcert.rules.linear import LinearRule
from fedcert.rules.pooling import Pooling
from fedcert.rules.protocol import AggregationRule
from fedcert.rules.trimmed_mean import TrimmedMean

WeightsName = Literal["uniform", "size"]


@dataclass(frozen=True)
class RuleContext:
    """What a rule may depend on: the clients, and the settings of a run.

    Attributes:
        laws: the clients' posteriors, whose precisions weigh a Product-of-Gaussians.
        sizes: the clients' numbers of examples; None where they are unknown.
        weights: weights of FedAvg, of a server step, of pooling and of the laws that have weights
            (docs/rules.md), equal or proportional to the sizes; or one number for each client, for all but a
            server step. Only those of a linear rule may be negative.
        trim: how many values a trimmed mean drops at each end.
        initial: θ_0 of a server step, the parameters that all clients started from.
        rate: η of a server step.
        prior_scale: σ_0, the deviation of the prior N(0, σ_0² I) that a prior-corrected product divides out.
    """

    laws: Sequence[Law]
    sizes: Sequence[int] | None
    weights: WeightsName | Sequence[float] = "uniform"
    trim: int = 1
    initial: Float64[Tensor, "n_w"] | None = None
    rate: float = 1.0
    prior_scale: float | None = None

    def __post_init__(self) -> None:
        names = get_args(WeightsName)
        if isinstance(self.weights, str) and self.weights not in names:
            raise InvalidArgument(
                f"weights: {self.weights!r}; give {' or '.join(names)}, or one number for each client"
            )

    @property
    def clients(self) -> int:
        """n, the number of clients."""
        return len(self.laws)

    @property
    def shares(self) -> list[int]:
        """What weights are proportional to: the sizes, or one for each client."""
        if self.weights == "uniform":
            return [1] * self.clients
        if self.weights != "size":
            raise InvalidConfig(f"weights: this rule shares out uniform or size, not {self.weights}")
        if self.sizes is None:
            raise InvalidArgument(
                "weights: size needs the numbers of examples, which messages state and laws or arrays do not"
            )
        return list(self.sizes)

    @property
    def proportions(self) -> Float64[Tensor, "n 1"]:
        """The weights of an average: ≥ 0 and of sum one."""
        device = self.laws[0].loc.device
        if isinstance(self.weights, str):
            return LinearRule.fedavg(self.shares).weights.to(device)
        return LinearRule.average(self.explicit_weights).weights

    @property
    def gaussians(self) -> list[DiagonalLaw]:
        """The clients' posteriors as one Gaussian each; an error where one is a mixture of several."""
        components = [diagonal_components(law) for law in self.laws]
        for client, own in enumerate(components):
            if len(own) > 1:
                raise InvalidLaw(
                    f"posterior {client} is a mixture of {len(own)} Gaussians: this rule needs one Gaussian"
                    " of each client; fedavg, server-step, linear, the median and pooling take mixtures"
                )
        return [own[0] for own in components]

    @property
    def dependent(self) -> list[GaussianLaw]:
        """The clients' posteriors, if one has parameters that depend on each other and none is a mixture."""
        if all(is_diagonal(law) for law in self.laws) or any(len(law.components) > 1 for law in self.laws):
            return []
        return [law.components[0] for law in self.laws]

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

    def require_no_numbers(self, name: str) -> None:
        """Refuse weights given as numbers, which this rule would ignore.

        Args:
            name: of the rule.
        """
        if not isinstance(self.weights, str):
            raise InvalidConfig(f"weights: {name} weighs clients by their precisions and takes no numbers")


Build = Callable[[RuleContext], AggregationRule]


@dataclass(frozen=True)
class RuleBuilder:
    """A rule under a name that configurations use.

    Attributes:
        name: also the name of the rules that it builds.
        build: makes the rule for some clients.
    """

    name: str
    build: Build


def _fedavg(context: RuleContext) -> AggregationRule:
    return LinearRule.average(context.proportions, "fedavg")


def _product_of_gaussians(context: RuleContext, name: str = "pog") -> AggregationRule:
    context.require_no_numbers(name)
    if laws := context.dependent:
        return dense_product(laws, name)
    return LinearRule.product_of_gaussians(context.gaussians, name)


def _weighted(law: Callable[[Sequence[DiagonalLaw], Float64[Tensor, "n 1"]], LinearRule]) -> Build:
    """The builder of a published law that has weights."""
    return lambda context: law(context.gaussians, context.proportions)


def _prior_corrected(context: RuleContext) -> AggregationRule:
    context.require_no_numbers("prior-corrected")
    if context.prior_scale is None:
        raise InvalidConfig(
            "prior_scale: prior-corrected divides out the prior that clients share and needs its deviation:"
            " give prior_scale (--prior-scale), or fedcert.rules.published.prior_corrected(laws, prior_scale)"
        )
    if laws := context.dependent:
        return dense_product(laws, "prior-corrected", prior_scale=context.prior_scale)
    return published.prior_corrected(context.gaussians, context.prior_scale)


def _reverse_kl(context: RuleContext) -> AggregationRule:
    if laws := context.dependent:
        return dense_product(laws, "reverse-kl", context.proportions)
    return published.reverse_kl(context.gaussians, context.proportions)


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


def _pooling(context: RuleContext) -> AggregationRule:
    if not isinstance(context.weights, str):
        return Pooling(context.explicit_weights)
    shares = torch.tensor([[float(share)] for share in context.shares], dtype=torch.float64)
    return Pooling(shares.to(context.laws[0].loc.device))


BUILDERS = (
    RuleBuilder("fedavg", _fedavg),
    RuleBuilder("pog", _product_of_gaussians),
    RuleBuilder("conflation", partial(_product_of_gaussians, name="conflation")),
    RuleBuilder("consensus", partial(_product_of_gaussians, name="consensus")),
    RuleBuilder("prior-corrected", _prior_corrected),
    RuleBuilder("wasserstein", _weighted(published.wasserstein)),
    RuleBuilder("reverse-kl", _reverse_kl),
    RuleBuilder("forward-kl", _weighted(published.forward_kl)),
    RuleBuilder("averaged-variances", _weighted(published.averaged_variances)),
    RuleBuilder("linear", _linear),
    RuleBuilder("server-step", _server_step),
    RuleBuilder("median", _median),
    RuleBuilder("trimmed-mean", _trimmed_mean),
    RuleBuilder("pooling", _pooling),
)
