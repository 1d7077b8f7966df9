"""What a run claims and samples, in the order of its tables, with the work still to be done."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial

import torch

from fedcert.app.config import RunConfig
from fedcert.certificate import Estimate
from fedcert.families.problem import Problem
from fedcert.families.protocol import Family
from fedcert.families.registry import families
from fedcert.federation.claims import Provable, claims_of
from fedcert.federation.estimates import aggregated_sampling, attack_survival, mc_ibp
from fedcert.federation.same_law import OncePerLaw
from fedcert.federation.server import problem_of
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream
from fedcert.rules import AggregationRule
from fedcert.verify import Safe
from fedcert.wire.message import Message

Rules = dict[str, AggregationRule]
Deployments = dict[str, Problem]
Samplable = tuple[str, str, Callable[[], Estimate]]  # an estimate's name, its rule, and the work


def deployed_by(
    messages: Sequence[Message], rules: Rules, network: Network, properties: Properties
) -> Deployments:
    """The problem that each rule poses; laws are deployed once, and shared by claims and estimates.

    Args:
        messages: what the clients sent.
        rules: by name.
        network: f_θ.
        properties: what is safe.
    """
    first, *others = rules
    problem = problem_of(messages, rules[first], network, properties)
    return {first: problem} | {name: problem.under(rules[name]) for name in others}


def certify(config: RunConfig, deployments: Deployments, track: Tracker = silent) -> Iterator[Provable]:
    """Every claim of the run, family by family.

    All direct certificates draw the same random centres, so that no claim depends on which were proven
    before it in the same process.

    Args:
        config: of the run.
        deployments: the problem that each rule poses.
        track: shows progress.
    """
    compared = [problem for name, problem in deployments.items() if name != config.rule]
    return claims_of(deployments[config.rule], chosen_families(config), compared, track)


def chosen_families(config: RunConfig) -> list[Family]:
    """The families of a run, in the order of tables.

    Settings of the run that have the name of a family's field are the family's.

    Args:
        config: of the run.
    """
    return [_configured(family, config) for family in families() if family.name in config.events]


def _configured(family: Family, config: RunConfig) -> Family:
    if not is_dataclass(family):
        return family
    own = {field.name for field in fields(family)} & set(RunConfig.model_fields)
    return replace(family, **{name: getattr(config, name) for name in own})


def sample(
    config: RunConfig, deployments: Deployments, safe: Safe, track: Tracker = silent
) -> Iterator[Samplable]:
    """MC–IBP and attack survival under the law of every rule that has one, and joint client draws.

    Args:
        config: of the run.
        deployments: the problem that each rule poses.
        safe: the paper's verifier.
        track: shows progress.
    """

    def draws(name: str, samples: int) -> tuple[int, torch.Generator]:
        return samples, stream(config.seed, name)

    asked = safe.network, safe.properties
    proven, survive = OncePerLaw[Estimate](), OncePerLaw[Estimate]()
    for name, problem in deployments.items():
        if problem.has_deployed_law:
            law = problem.deployed
            count = partial(mc_ibp, law, safe, name, *draws("mc-ibp", config.mc_samples), track)
            yield "mc-ibp", name, proven(law, name, count)
            attacked = draws("attack-survival", config.attack_samples)
            attack = partial(attack_survival, law, *asked, name, *attacked, track=track)
            yield "attack-survival", name, survive(law, name, attack)
    joint = draws("aggregated-sampling", config.aggregate_samples)
    deployed = deployments[config.rule]
    drawn = partial(aggregated_sampling, deployed.laws, deployed.rule, *asked, *joint, track)
    yield "aggregated-sampling", config.rule, drawn
