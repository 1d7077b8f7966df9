"""Monte Carlo estimates: MC–IBP, aggregated sampling and attack survival. None of them is a bound."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from fedcert.certificate import Estimate
from fedcert.federation.joint import JointDraws, Sampled
from fedcert.federation.normals import QuantisedNormals
from fedcert.laws import DiagonalGaussian, Law
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule, LinearMap
from fedcert.verify import BATCH_ELEMENTS, Safe
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.points import accepts

CACHED_ELEMENTS = 2**18  # numbers of single precision that stay in a processor's cache
Draw = Callable[[int], Float[Tensor, "count n_w"]]


def mc_ibp(
    law: Sampled,
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
    batches = _batches(samples, BATCH_ELEMENTS // law.dimension)
    successes = [safe(Box.point(law.sample(count, generator))).sum(0) for count in track(batches, "MC–IBP")]
    return Estimate("mc-ibp", rule, torch.stack(successes).sum(0), samples)


def aggregated_sampling(
    laws: Sequence[Law],
    rule: AggregationRule,
    network: Network,
    properties: Properties,
    samples: int,
    generator: torch.Generator,
    track: Tracker = silent,
) -> Estimate:
    """The share of joint client draws whose aggregate is accepted by interval bounds, rounding apart.

    Args:
        laws: q_i, the clients' posteriors.
        rule: A, the deployed rule.
        network: f_θ.
        properties: what the aggregates are to fulfil.
        samples: how many joint draws to make.
        generator: the source of randomness.
        track: shows progress.
    """
    draw = _joint_draws(laws, rule, generator)
    batches = _batches(samples, CACHED_ELEMENTS // laws[0].dimension)
    successes = [
        accepts(network, draw(count), properties).sum(0) for count in track(batches, "aggregated sampling")
    ]
    return Estimate("aggregated-sampling", rule.name, torch.stack(successes).sum(0), samples)


def attack_survival(
    law: Sampled,
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
    up to sampling. Networks that interval bounds show safe for a property survive without a trial.

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
    for count in track(_batches(samples, BATCH_ELEMENTS // largest), "attack survival"):
        theta = law.sample(count, generator).float()
        survives = accepts(network, theta, properties)
        open_ones = ~survives.all(0)
        if open_ones.any():
            survives[:, open_ones] |= attack.survives(network, theta, properties[open_ones])
        survived += survives.sum(0)
    return Estimate("attack-survival", rule, survived, samples)


def _batches(samples: int, size: int) -> list[int]:
    """How many networks are drawn at a time."""
    size = max(1, size)
    return [min(size, samples - start) for start in range(0, samples, size)]


def _joint_draws(laws: Sequence[Law], rule: AggregationRule, generator: torch.Generator) -> Draw:
    """Aggregates of joint client draws: A(θ_1, …, θ_n), A(μ_1, …, μ_n) + Σ_i w_i σ_i Z_i if A is linear."""
    gaussians = [law for law in laws if isinstance(law, DiagonalGaussian)]
    if not isinstance(rule, LinearMap) or len(gaussians) < len(laws):
        joint = JointDraws(laws, rule)
        return lambda count: joint.sample(count, generator)
    normals = QuantisedNormals(generator)
    centre = rule([law.loc for law in gaussians]).float()
    scales = [(w * law.scale).float() for w, law in zip(rule.weights, gaussians, strict=True)]

    def draw(count: int) -> Float[Tensor, "count n_w"]:
        total = centre.repeat(count, 1)
        for scale in scales:
            total.addcmul_(scale, normals(count, len(centre)).to(centre.device))
        return total

    return draw
