"""Monte Carlo estimates: MC–IBP and the aggregated-sampling diagnostic. Neither is a bound."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedcert.box import Box
from fedcert.certificate import Estimate
from fedcert.laws import Law
from fedcert.progress import Tracker, silent
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
