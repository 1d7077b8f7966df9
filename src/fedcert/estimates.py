"""Monte Carlo estimates: MC–IBP, aggregated sampling and attack survival. None of them is a bound."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.attack import ProjectedGradient
from fedcert.box import Box
from fedcert.certificate import Estimate
from fedcert.laws import Law
from fedcert.networks import Network
from fedcert.progress import Tracker, silent
from fedcert.properties import Properties
from fedcert.rules import AggregationRule
from fedcert.verifiers import BATCH_ELEMENTS, Safe


def mc_ibp(
    law: Law,
    safe: Safe,
    rule: str,
    samples: int,
    generator: torch.Generator,
    track: Tracker = silent,
) -> Estimate:
    """The share of networks drawn from the deployed law whose whole input region is accepted.

    Args:
        law: q_g, the deployed law.
        safe: the verifier, applied to single parameter vectors, and the properties.
        rule: the name of the rule whose deployed law q_g is.
        samples: how many networks to draw.
        generator: the source of randomness.
        track: shows progress.
    """
    successes = _accepted(
        lambda count: law.sample(count, generator), law.dimension, safe, samples, "MC–IBP", track
    )
    return Estimate("mc-ibp", rule, successes, samples)


def aggregated_sampling(
    laws: Sequence[Law],
    rule: AggregationRule,
    safe: Safe,
    samples: int,
    generator: torch.Generator,
    track: Tracker = silent,
) -> Estimate:
    """The share of joint client draws whose aggregate, as the rule computes it, is accepted.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        safe: the verifier, applied to single parameter vectors, and the properties.
        samples: how many joint draws to make.
        generator: the source of randomness.
        track: shows progress.
    """
    successes = _accepted(
        lambda count: rule([law.sample(count, generator) for law in laws]),
        laws[0].dimension,
        safe,
        samples,
        "aggregated sampling",
        track,
    )
    return Estimate("aggregated-sampling", rule.name, successes, samples)


def attack_survival(
    law: Law,
    network: Network,
    properties: Properties,
    rule: str,
    samples: int,
    generator: torch.Generator,
    attack: ProjectedGradient | None = None,
    track: Tracker = silent,
) -> Estimate:
    """The share of networks drawn from the deployed law on which an attack inside the region fails.

    The safety probability lies between the share that is proven safe one by one (MC–IBP) and this one,
    up to sampling.

    Args:
        law: q_g, the deployed law.
        network: f_θ.
        properties: the properties to violate.
        rule: the name of the rule whose deployed law q_g is.
        samples: how many networks to draw.
        generator: the source of randomness.
        attack: the attack; the default one where None.
        track: shows progress.
    """
    attack = attack or ProjectedGradient()
    survived = torch.zeros(len(properties), dtype=torch.int64, device=properties.C.device)
    largest = max(law.dimension, len(properties) * network.inputs)
    size = max(1, BATCH_ELEMENTS // largest)
    for start in track(range(0, samples, size), "attack survival"):
        theta = law.sample(min(size, samples - start), generator)
        survived += attack.survives(network, theta, properties).sum(0)
    return Estimate("attack-survival", rule, survived, samples)


def _accepted(
    draw: Callable[[int], Float64[Tensor, "count n_w"]],
    dimension: int,
    safe: Safe,
    samples: int,
    description: str,
    track: Tracker,
) -> Int64[Tensor, "P"]:
    """How many drawn networks are accepted, for each property; drawn and checked in batches."""
    size = max(1, BATCH_ELEMENTS // dimension)
    counts = [min(size, samples - start) for start in range(0, samples, size)]
    return torch.stack([safe(Box.point(draw(count))).sum(0) for count in track(counts, description)]).sum(0)
