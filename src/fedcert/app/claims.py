"""What a run claims and samples, in the order of its tables, with the work still to be done."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial

import torch

from fedcert.app.config import RunConfig
from fedcert.certificate import Estimate
from fedcert.families.protocol import Family
from fedcert.families.registry import families
from fedcert.federation.claims import Provable, claims_of
from fedcert.federation.estimates import aggregated_sampling, attack_survival, mc_ibp
from fedcert.federation.same_law import OncePerLaw
from fedcert.federation.server import RuleName, problem_of
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, GaussianRule
from fedcert.verify import Safe
from fedcert.wire.message import Message

Rules = dict[RuleName, AggregationRule]
Samplable = tuple[str, str, Callable[[], Estimate]]  # an estimate's name, its rule, and the work


def certify(
    config: RunConfig,
    messages: Sequence[Message],
    rules: Rules,
    network: Network,
    properties: Properties,
    track: Tracker = silent,
) -> Iterator[Provable]:
    """Every claim of the run, family by family.

    All direct certificates draw the same random centres, so that no claim depends on which were proven
    before it in the same process.
    """
    deployed = rules[config.rule]
    compared = [rule for name, rule in rules.items() if name != config.rule]
    problem = problem_of(messages, deployed, network, properties)
    return claims_of(problem, chosen_families(config), compared, track)


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
    config: RunConfig,
    laws: Sequence[DiagonalGaussian],
    rules: Rules,
    safe: Safe,
    track: Tracker = silent,
) -> Iterator[Samplable]:
    """MC–IBP and attack survival under the law of every rule that has one, and joint client draws."""

    def draws(name: str, samples: int) -> tuple[int, torch.Generator]:
        return samples, stream(config.seed, name)

    problem = safe.network, safe.properties
    proven, survive = OncePerLaw[Estimate](), OncePerLaw[Estimate]()
    for name, rule in rules.items():
        if isinstance(rule, GaussianRule):
            law = rule.pushforward(laws)
            count = partial(mc_ibp, law, safe, name, *draws("mc-ibp", config.mc_samples), track)
            yield "mc-ibp", name, proven(law, name, count)
            attacked = draws("attack-survival", config.attack_samples)
            attack = partial(attack_survival, law, *problem, name, *attacked, track=track)
            yield "attack-survival", name, survive(law, name, attack)
    joint = draws("aggregated-sampling", config.aggregate_samples)
    deployed = rules[config.rule]
    yield (
        "aggregated-sampling",
        config.rule,
        partial(aggregated_sampling, laws, deployed, *problem, *joint, track),
    )
