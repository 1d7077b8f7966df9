"""The claims and estimates of a run, in the order of its tables, each with the function that computes it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial

import torch

from fedcert.app.config import RunConfig
from fedcert.certificate import Estimate, Kind
from fedcert.errors import InvalidConfig
from fedcert.families.problem import Problem
from fedcert.families.protocol import Family
from fedcert.families.registry import families
from fedcert.federation.claims import Provable, claims_of
from fedcert.federation.estimates import aggregated_sampling, attack_survival, mc_ibp
from fedcert.federation.joint import JointDraws, Sampled
from fedcert.federation.same_law import OncePerLaw
from fedcert.federation.server import problem_of
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, Pooling
from fedcert.wire.message import Message

Rules = dict[str, AggregationRule]
Deployments = dict[str, Problem]
Samplable = tuple[str, str, Callable[[], Estimate]]  # an estimate's name, its rule, and what computes it


def deployed_by(
    messages: Sequence[Message], rules: Rules, network: Network, properties: Properties
) -> Deployments:
    """The problem that each rule poses; each law is deployed once and shared by claims and estimates.

    Args:
        messages: the clients' messages.
        rules: the rules by name.
        network: f_θ.
        properties: the properties that define what is safe.
    """
    first, *others = rules
    problem = problem_of(messages, rules[first], network, properties)
    return {first: problem} | {name: problem.under(rules[name]) for name in others}


def certify(
    config: RunConfig, deployments: Deployments, family: Family, track: Tracker = silent
) -> Iterator[Provable]:
    """Every claim of the run that a family makes.

    All direct certificates draw the same random centres, so that no claim depends on which claims were
    proven before it in the same process.

    Args:
        config: the configuration of the run.
        deployments: the problem that each rule poses.
        family: of events, as the run configures it.
        track: shows progress.
    """
    compared = [problem for name, problem in deployments.items() if name != config.rule]
    for claim, prove in claims_of(deployments[config.rule], [family], compared, track):
        if claim.kind in config.claims:
            yield claim, prove


def chosen_families(config: RunConfig) -> list[Family]:
    """The families of events of a run, in the order of its tables.

    A setting of the run that has the same name as a field of a family is passed on to that family.

    Args:
        config: the configuration of the run.
    """
    return [_configured(family, config) for family in families() if family.name in config.events]


def _configured(family: Family, config: RunConfig) -> Family:
    if not is_dataclass(family):
        return family
    own = {field.name for field in fields(family)} & set(RunConfig.model_fields)
    return replace(family, **{name: getattr(config, name) for name in own})


def require_claims(config: RunConfig, problem: Problem) -> None:
    """Refuse a run that would prove nothing of what it is asked for.

    Args:
        config: the configuration of the run.
        problem: under the deployed rule.
    """

    def has_claim(family: Family) -> bool:
        return any(family.supports(problem, kind) for kind in config.claims)

    if not any(map(has_claim, chosen_families(config))):
        others = [family.name for family in families() if has_claim(family)]
        dependent = "" if problem.diagonal else " where weights depend on each other"
        raise InvalidConfig(
            f"events: {', '.join(config.events)} has no {' or '.join(config.claims)} claim under the rule"
            f" {config.rule}{dependent}" + (f": ask for {' or '.join(others)} events" if others else "")
        )
    if config.radius or config.softmax_margins:
        strongest_claim(config, problem)


def strongest_claim(config: RunConfig, problem: Problem) -> tuple[Family, Kind]:
    """The last family of a run that has a direct claim about the deployed model, or else a transported one.

    Args:
        config: the configuration of the run.
        problem: under the deployed rule.
    """
    kinds: tuple[Kind, ...] = ("direct", "transported")
    for kind in kinds:
        for family in reversed(chosen_families(config)):
            if kind in config.claims and family.supports(problem, kind):
                return family, kind
    raise InvalidConfig(
        f"claims: {', '.join(config.claims)} with {', '.join(config.events)} events say nothing of the model"
        f" that {config.rule} deploys, which radii and softmax decisions need"
    )


def sample(config: RunConfig, deployments: Deployments, track: Tracker = silent) -> Iterator[Samplable]:
    """MC–IBP and attack survival for every rule whose deployed law is known, and joint draws of the clients.

    Args:
        config: the configuration of the run.
        deployments: the problem that each rule poses.
        track: shows progress.
    """

    def draws(name: str, samples: int) -> tuple[int, torch.Generator]:
        return samples, stream(config.seed, name)

    deployed = deployments[config.rule]
    asked = deployed.network, deployed.properties
    proven, survive = OncePerLaw[Estimate](), OncePerLaw[Estimate]()
    for name, problem in deployments.items():
        closed = problem.has_deployed_law and problem.gaussian
        if not (problem.has_deployed_law or isinstance(problem.rule, Pooling)):
            continue
        law: Sampled = problem.deployed if closed else JointDraws(problem.laws, problem.rule)
        count = partial(mc_ibp, law, *asked, name, *draws("mc-ibp", config.mc_samples), track)
        yield "mc-ibp", name, proven(problem.deployed, name, count) if closed else count
        attacked = draws("attack-survival", config.attack_samples)
        attack = partial(attack_survival, law, *asked, name, *attacked, track=track)
        yield "attack-survival", name, survive(problem.deployed, name, attack) if closed else attack
    joint = draws("aggregated-sampling", config.aggregate_samples)
    drawn = partial(aggregated_sampling, deployed.laws, deployed.rule, *asked, *joint, track)
    yield "aggregated-sampling", config.rule, drawn
