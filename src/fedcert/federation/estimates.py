"""Monte Carlo estimates: MC–IBP, aggregated sampling and attack survival. None of them is a bound.

Networks are drawn by number (`numbered.py`), so that an estimate depends neither on how many are drawn at a
time nor on the device.
"""

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fedcert.certificate import Estimate
from fedcert.federation.joint import Sampled
from fedcert.federation.numbered import draws_of, joint_draws
from fedcert.federation.settled import Judge, at_centres, count_successes
from fedcert.laws import Law
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.progress import Tracker, silent
from fedcert.rules import AggregationRule
from fedcert.verify.attack import ProjectedGradient, least_margin
from fedcert.verify.backward_points import shows_safe_backward
from fedcert.verify.points import accepts, accepts_in_double, shows_safe

HELD_ELEMENTS = 2**20  # numbers that are held at a time: enough to hide what an operation costs
DEVICE_ELEMENTS = 2**24  # numbers that keep another device busy, and leave it memory


def mc_ibp(
    law: Sampled,
    network: Network,
    properties: Properties,
    rule: str,
    samples: int,
    generator: torch.Generator,
    track: Tracker = silent,
) -> Estimate:
    """The share of networks drawn from the deployed law that interval bounds accept, rounding apart.

    Args:
        law: q_g, the deployed law.
        network: f_θ.
        properties: what the networks are to fulfil.
        rule: the name of the rule whose deployed law q_g is.
        samples: how many networks to draw.
        generator: the source of randomness.
        track: shows progress.
    """

    def judge(asked: Properties) -> Judge:
        return lambda theta: accepts_in_double(network, theta, asked)

    batches = track(_batches(samples, law.dimension, properties), "MC–IBP")
    successes = count_successes(draws_of(law, generator), network, properties, judge, batches, samples)
    return Estimate("mc-ibp", rule, successes, samples)


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

    def judge(asked: Properties) -> Judge:
        return lambda theta: accepts(network, theta, asked)

    draws = joint_draws(laws, rule, generator)
    batches = track(_batches(samples, laws[0].dimension, properties), "aggregated sampling")
    successes = count_successes(draws, network, properties, judge, batches, samples)
    return Estimate("aggregated-sampling", rule.name, successes, samples)


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
    up to sampling. Networks that interval or backward linear bounds show safe for a property survive without
    a trial, and those that break it at the centre of its region fall without one.

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
    judge = partial(_survivors, network, attack or ProjectedGradient())
    largest = max(law.dimension, len(properties) * network.inputs)
    batches = track(_batches(samples, largest, properties), "attack survival")
    draws, needed = draws_of(law, generator), at_centres(properties)
    successes = count_successes(draws, network, properties, judge, batches, samples, needed)
    return Estimate("attack-survival", rule, successes, samples)


def _survivors(network: Network, attack: ProjectedGradient, asked: Properties) -> Judge:
    """Whether networks survive an attack on some properties."""
    centre = ((asked.regions.lower + asked.regions.upper) / 2).float()

    def judge(theta: Float[Tensor, "count n_w"]) -> Bool[Tensor, "count P"]:
        theta = theta.float()
        safe = shows_safe(network, theta, asked)
        undecided = ~safe & (least_margin(network, theta, centre, asked) >= 0)
        safe |= shows_safe_backward(network, theta, asked, undecided)
        return safe | attack.survives(network, theta, asked, undecided & ~safe)

    return judge


def _batches(samples: int, held: int, properties: Properties) -> list[tuple[int, int]]:
    """The first number and the count of the networks that are drawn at a time.

    Args:
        samples: how many in all.
        held: numbers that are held for each.
        properties: on the device that judges them.
    """
    room = HELD_ELEMENTS if properties.C.device.type == "cpu" else DEVICE_ELEMENTS
    size = max(1, room // held)
    return [(start, min(size, samples - start)) for start in range(0, samples, size)]
