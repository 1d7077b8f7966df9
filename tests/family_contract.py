"""What every family of events must fulfil, as functions that tests of any family can call."""

import math
from dataclasses import replace

import torch
from scipy.special import ndtr

from fedcert.certificate import Certificate, Claim, Kind, clopper_pearson
from fedcert.families.problem import Problem
from fedcert.families.protocol import Family
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.points import accepts

SAMPLES = 2000
CONFIDENCE = 1 - 1e-9
KINDS: tuple[Kind, ...] = ("local", "transported", "direct")


def check_family(family: Family, problem: Problem, seed: int = 0) -> list[Certificate]:
    """Hold a family to its claims of the deployed model: no sample of networks contradicts them."""
    assert isinstance(family, Family)
    generator = stream(seed, "family contract")
    networks = problem.rule([law.sample(SAMPLES, generator) for law in problem.laws])
    broken = ~ProjectedGradient().survives(problem.network, networks, problem.properties)
    proven = accepts(problem.network, networks, problem.properties)
    found = []
    for kind in ("transported", "direct"):
        if not family.supports(problem, kind):
            continue
        certificate = family.prove(problem, kind)
        assert certificate.claim.kind == kind
        assert certificate.claim.rule == problem.rule.name
        assert certificate.lower.shape == (len(problem.properties),)
        for p, low in enumerate(certificate.lower.tolist()):
            assert low <= 1 - clopper_pearson(int(broken[:, p].sum()), SAMPLES, CONFIDENCE)[0]
        if certificate.upper is not None:
            for p, high in enumerate(certificate.upper.tolist()):
                assert high >= clopper_pearson(int(proven[:, p].sum()), SAMPLES, CONFIDENCE)[0]
        found.append(certificate)
    if family.supports(problem, "local"):
        local = family.prove(problem, "local")
        assert local.claim.kind == "local"
        assert torch.isfinite(local.lower).all()
    return found


def check_certainty(family: Family, problem: Problem) -> None:
    """What holds for every network is proven in part at least; what holds for none is proven of none."""
    for kind in KINDS:
        if not family.supports(problem, kind):
            continue
        sure, never = (family.prove(_always(problem, d), kind) for d in (1.0, -1.0))
        assert (sure.lower > 0.05).all()
        assert sure.upper is None or (sure.upper == 1).all()
        assert (never.lower == 0).all()
        assert never.upper is None or (never.upper < 1e-6).all()


def check_half_space(family: Family, share: float) -> None:
    """One random number decides: bounds enclose its exact probability and reach a share of it.

    Args:
        family: of events.
        share: what a lower bound has at least of the probability, where that is large.
    """
    for problem, truths in map(half_space, (-1.0, 0.5, 4.0)):
        for kind, truth in truths.items():
            certificate = family.prove(problem, kind)
            assert certificate.claim == Claim(kind, "fedavg", family.name)
            assert certificate.lower.item() <= truth
            assert truth < 0.99 or certificate.lower.item() >= share * truth
            assert certificate.upper is None or truth <= certificate.upper.item()


def half_space(sigmas: float) -> tuple[Problem, dict[Kind, float]]:
    """Two clients' models of one weight w and one bias b, and what is true of b + w + d ≥ 0.

    Args:
        sigmas: how many deviations of the deployed output lie between its mean and 0.
    """
    network, rule = mlp(1, 1), LinearRule.fedavg([1, 1])
    loc, scale = torch.tensor([0.25, -0.5]).double(), torch.tensor([0.5, 0.125]).double()
    laws = (DiagonalGaussian(loc, scale), DiagonalGaussian(-loc, 2 * scale))
    means, deviations = [law.loc.sum().item() for law in laws], [law.scale.norm().item() for law in laws]
    d = sigmas * math.hypot(*deviations) / 2
    ones = torch.ones(1, 1, dtype=torch.float64)
    problem = Problem(network, Properties(Box.point(ones), ones[:, None], d * ones), laws, rule)
    deployed = ndtr(sigmas)
    own = [ndtr((mean + d) / deviation) for mean, deviation in zip(means, deviations, strict=True)]
    return problem, {"local": sum(own) / 2, "transported": deployed, "direct": deployed}


def _always(problem: Problem, d: float) -> Problem:
    """The same problem, with properties that say d ≥ 0 of every network."""
    asked = problem.properties
    constant = Properties(asked.regions, torch.zeros_like(asked.C), torch.full_like(asked.d, d))
    return replace(problem, properties=constant)
