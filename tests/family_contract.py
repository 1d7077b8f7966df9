"""What every family of events must fulfil, as functions that tests of any family can call."""

import torch

from fedcert.certificate import Certificate, clopper_pearson
from fedcert.families.problem import Problem
from fedcert.families.protocol import Family
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient
from fedcert.verify.points import accepts

SAMPLES = 2000
CONFIDENCE = 1 - 1e-9


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
