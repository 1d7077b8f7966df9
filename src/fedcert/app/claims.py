"""What a run claims and samples, in the order of its tables, with the work still to be done."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch

from fedcert.app.config import RunConfig
from fedcert.app.same_law import OncePerLaw
from fedcert.certificate import Certificate, Claim, Estimate
from fedcert.families.mean_box.certify import certify_boxes, certify_boxes_directly, certify_boxes_locally
from fedcert.families.mean_box.events import MeanBox
from fedcert.families.paper_box.events import PaperBox
from fedcert.families.projected.direct import EVENTS as PROJECTED
from fedcert.families.projected.direct import certify_projected_directly, certify_projected_locally
from fedcert.families.projected.transported import certify_projected
from fedcert.federation.estimates import aggregated_sampling, attack_survival, mc_ibp
from fedcert.federation.server import Provable, RuleName, direct, provable
from fedcert.laws import DiagonalGaussian
from fedcert.progress import Tracker, silent
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, GaussianRule, LinearMap
from fedcert.verify import AnyOf, Safe
from fedcert.verify.interval import MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier
from fedcert.wire.message import Message

Rules = dict[RuleName, AggregationRule]
Samplable = tuple[str, str, Callable[[], Estimate]]  # an estimate's name, its rule, and the work


def certify(
    config: RunConfig, messages: Sequence[Message], rules: Rules, safe: Safe, track: Tracker = silent
) -> Iterator[Provable]:
    """Every claim of the run, family by family.

    Local and transported claims are made for the deployed rule, direct ones for every rule that has a
    closed-form law. All direct certificates draw the same random centres, so that rules with equal laws
    have equal certificates, which are proven once, and no claim depends on which were proven before it in
    the same process.
    """
    deployed = rules[config.rule]
    laws = [message.law for message in messages]
    others = [rule for name, rule in rules.items() if name != config.rule and isinstance(rule, GaussianRule)]
    with_law = [deployed, *others] if isinstance(deployed, GaussianRule) else others
    deploys = [(rule, rule.pushforward(laws)) for rule in with_law]
    if PaperBox.name in config.events:
        events = paper_box(config)
        yield from provable(messages, deployed, safe, config.budget, track)
        once = OncePerLaw[Certificate]()
        for rule, law in deploys:
            centers = stream(config.seed, "direct")
            prove = partial(direct, laws, rule, safe, centers, events, track)
            yield Claim("direct", rule.name, PaperBox.name), once(law, rule.name, prove)
    if MeanBox.name in config.events:
        tight = Safe(safe.network, safe.properties, AnyOf((MergedIntervalVerifier(), LinearVerifier())))
        local = partial(certify_boxes_locally, laws, deployed.name, tight, MeanBox(), track)
        yield Claim("local", deployed.name, MeanBox.name), local
        transported = partial(certify_boxes, laws, deployed, tight, MeanBox(), track=track)
        yield Claim("transported", deployed.name, MeanBox.name), transported
        once = OncePerLaw[Certificate]()
        for rule, law in deploys:
            prove = partial(certify_boxes_directly, laws, rule, tight, MeanBox(), track)
            yield Claim("direct", rule.name, MeanBox.name), once(law, rule.name, prove)
    if PROJECTED in config.events:
        problem = safe.network, safe.properties
        local = partial(certify_projected_locally, laws, deployed.name, *problem, track)
        yield Claim("local", deployed.name, PROJECTED), local
        if isinstance(deployed, LinearMap):
            transported = partial(certify_projected, laws, deployed, *problem, track=track)
            yield Claim("transported", deployed.name, PROJECTED), transported
        once = OncePerLaw[Certificate]()
        for rule, law in deploys:
            prove = partial(certify_projected_directly, laws, rule, *problem, track=track)
            yield Claim("direct", rule.name, PROJECTED), once(law, rule.name, prove)


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


def paper_box(config: RunConfig) -> PaperBox:
    """The paper's events with the configured values."""
    return PaperBox(config.gamma, config.centers, config.cells)
