"""Mixtures and pools of half-spaces: against their exact probabilities, and on to the checker."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from flint import arb
from mixture_cases import saved, shares
from problems import normal, uniform

from fedcert.families.problem import Problem
from fedcert.families.projected.family import ProjectedFamily
from fedcert.laws import DiagonalGaussian, GaussianMixture, Law
from fedcert.model.network import mlp
from fedcert.rules import LinearRule, Pooling
from fedcert_check import check
from fuzz.balls import precision
from fuzz.certificates import half_space, half_spaces
from fuzz.hostile import between, choice
from fuzz.verdicts import Verdict

BITS = 400
IDENTITY = LinearRule(torch.ones(1, 1).double())


def mixtures(generator: torch.Generator) -> Iterator[Verdict]:
    """Components close together or far apart, weights of many magnitudes, few bounds or enough of them."""
    inputs, clients = choice(generator, 1, 2), choice(generator, 1, 2, 3)
    laws = [_law(generator, inputs + 1) for _ in range(clients)]
    weights = 10 ** (choice(generator, 0.0, 3.0, 20.0) * (uniform(generator, clients, 1) - 0.5))
    linear = LinearRule(normal(generator, clients, 1))
    rule = choice(generator, linear, Pooling(weights))
    first = [law.components[0] for law in laws]
    asked = half_spaces(generator, first, linear, inputs, 0.0)[:3]
    problem = Problem(mlp(inputs, 1), asked, tuple(laws), rule)
    family = ProjectedFamily(tuples=choice(generator, 1, 3, 256))
    found = family.prove(problem, choice(generator, "direct", "transported"))
    with TemporaryDirectory() as folder:
        report = check(saved(Path(folder), problem, found))
    upper = torch.ones_like(found.lower) if found.upper is None else found.upper
    with precision(BITS):
        for p in range(len(asked)):
            low, high = found.lower[p].item(), upper[p].item()
            exact = _exact(problem, p)
            sound = not (exact < arb(low) or exact > arb(high))  # a probability of 1 is a ball around 1
            what = f"{found.claim}: [{low}, {high}], but {exact}"
            yield Verdict(bool(sound), low > 0 or high < 1, what, p not in report.failures)


def _law(generator: torch.Generator, parameters: int) -> Law:
    count, apart = choice(generator, 1, 2, 3), choice(generator, 0.0, 1e-3, 0.05, 3.0)
    loc, scale = normal(generator, parameters), 0.05 + uniform(generator, parameters)
    parts = tuple(
        DiagonalGaussian(
            loc + apart * scale * normal(generator, parameters),
            scale * (1 + min(apart, 1.0) * 1e-4 * uniform(generator, parameters)),
        )
        for _ in range(count)
    )
    spread = between(generator, 0.0, choice(generator, 1.0, 60.0))
    return GaussianMixture(parts, 10 ** (spread * (uniform(generator, count) - 0.5)))


def _exact(problem: Problem, p: int) -> arb:
    """Σ over tuples, or over clients and components under pooling, of exact Gaussian probabilities."""
    if isinstance(problem.rule, Pooling):
        weights = [arb(w) for w in problem.rule.weights[:, 0].tolist()]
        whole = sum(weights, arb(0))
        own = [_mixed(problem, [law], IDENTITY, p) for law in problem.laws]
        return sum((w / whole * q for w, q in zip(weights, own, strict=True)), arb(0))
    assert isinstance(problem.rule, LinearRule)
    return _mixed(problem, problem.laws, problem.rule, p)


def _mixed(problem: Problem, laws: Sequence[Law], rule: LinearRule, p: int) -> arb:
    asked, total = problem.properties[p : p + 1], arb(0)
    x, C, d = asked.regions.lower[0], asked.C[0, 0, 0], asked.d[0, 0]
    for chosen in product(*(zip(shares(law), law.components, strict=True) for law in laws)):
        weight = arb(1)
        for share, _ in chosen:
            weight = weight * share
        total = total + weight * half_space([part for _, part in chosen], rule, x, C, d)
    return total
