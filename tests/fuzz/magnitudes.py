"""Half-spaces whose numbers have any magnitude, from 1e-320 to 1e300, against closed forms."""

from collections.abc import Iterator

import torch
from flint import arb
from problems import normal, uniform
from torch import Tensor

from fedcert.certificate import Certificate
from fedcert.errors import InvalidLaw
from fedcert.families.problem import Problem
from fedcert.families.projected.direct import certify_projected_directly, certify_projected_locally
from fedcert.families.projected.tails import Cells, Limit, Product
from fedcert.families.projected.transported import certify_projected
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule
from fuzz.balls import above, accurate, balls, below, dot, norm, precision, tail
from fuzz.hostile import between, choice
from fuzz.verdicts import Verdict

PROPERTIES = 12
BITS = 4000  # sums of products of a few floats, whatever their exponents


def power(generator: torch.Generator, low: float, high: float) -> float:
    """A power of ten: ordinary, or of any exponent between two."""
    return 10 ** choice(generator, between(generator, -1, 1), between(generator, low, high))


def magnitudes(generator: torch.Generator, low: float, high: float, *shape: int) -> Tensor:
    """Numbers of one magnitude or, now and then, of magnitudes that have nothing to do with each other."""
    if choice(generator, True, True, False):
        return power(generator, low, high) * normal(generator, *shape)
    return normal(generator, *shape).sign() * 10 ** (low + (high - low) * uniform(generator, *shape))


def client(generator: torch.Generator, parameters: int) -> DiagonalGaussian:
    """A law within what laws may be; its mean may be denormal."""
    loc = magnitudes(generator, -320, 99, parameters).clamp(-1e99, 1e99)
    scale = magnitudes(generator, -99, 99, parameters).abs()
    return DiagonalGaussian(loc, scale.clamp(1e-99, 1e99))


def offsets(generator: torch.Generator, mean: Tensor, deviation: Tensor) -> Tensor:
    """d for which a margin is within some deviations of 0; or anything."""
    near = choice(generator, 0.3, 3.0, 8.0) * normal(generator, *mean.shape) * deviation - mean
    d = choice(generator, near, near, near, near, magnitudes(generator, -320, 300, *mean.shape))
    return d.nan_to_num(0.0, 0.0, 0.0).clamp(-1e300, 1e300)


def half_spaces(generator: torch.Generator) -> Iterator[Verdict]:
    """Networks of one layer at a point, all three kinds of claims."""
    inputs, outputs, clients = (choice(generator, 1, 2, 3) for _ in range(3))
    network = mlp(inputs, outputs)
    laws = [client(generator, network.parameters) for _ in range(clients)]
    weights = magnitudes(generator, -150, 150, clients, choice(generator, 1, network.parameters))
    rule = LinearRule(weights.where(weights != 0, torch.ones(())))
    try:
        deployed = rule.pushforward(laws)
    except InvalidLaw:  # beyond what laws may be
        yield Verdict(True, False)
        return
    x = magnitudes(generator, -320, 300, PROPERTIES, inputs)
    C = magnitudes(generator, -320, 300, PROPERTIES, choice(generator, 1, 2), outputs)
    (W, b), (S, s) = (network.unflatten(own)[0] for own in (deployed.loc, deployed.scale))
    mean = (C @ (x @ W.mT + b).unsqueeze(-1)).squeeze(-1)
    spread = (x.square() @ S.square().mT + s.square()).sqrt().unsqueeze(1)
    d = offsets(generator, mean, (C * spread).norm(dim=-1))
    properties = Properties(Box.point(x), C, d)
    way = choice(generator, Limit(), Product(), Cells(16), Cells(64))
    found = [
        (certify_projected_directly(Problem(network, properties, tuple(laws), rule)), [weights]),
        (certify_projected(Problem(network, properties, tuple(laws), rule), way), [weights]),
        (
            certify_projected_locally(Problem(network, properties, tuple(laws), rule)),
            list(torch.eye(clients).double()),
        ),
    ]
    for p in range(PROPERTIES):
        for certificate, shares in found:
            truths = [truth_of(laws, own.view(clients, -1), properties, p) for own in shares]
            least = sum((low for low, _ in truths), arb(0)) / len(truths)
            most = sum((high for _, high in truths), arb(0)) / len(truths)
            yield judged(certificate, p, least, most)


def judged(certificate: Certificate, p: int, least: arb, most: arb) -> Verdict:
    """Whether the bounds contradict least ≤ Pr(safe) ≤ most."""
    low = certificate.lower[p].item()
    high = 1.0 if certificate.upper is None else certificate.upper[p].item()
    sound = below(low, most) and above(high, least)
    what = f"{certificate.claim} {p}: [{low}, {high}], not within [{least}, {most}]"
    return Verdict(sound, low > 0 or high < 1, "" if sound else what)


def truth_of(
    laws: list[DiagonalGaussian], weights: Tensor, properties: Properties, p: int
) -> tuple[arb, arb]:
    """Bounds of the probability that all constraints hold: 1 − Σ (1 − P_r), and the least P_r."""
    holds = []
    for C, d in zip(properties.C[p], properties.d[p], strict=True):
        if not C.any():
            holds.append(arb(1) if d >= 0 else arb(0))
            continue
        mean, deviation = form(laws, weights, properties.regions.lower[p], C, d)
        holds.append(accurate(lambda m=mean, s=deviation: tail(-m / s)))
    with precision(200):
        return 1 - sum((1 - own for own in holds), arb(0)), min(holds, key=float)


def form(laws: list[DiagonalGaussian], weights: Tensor, x: Tensor, C: Tensor, d: Tensor) -> tuple[arb, arb]:
    """Mean and deviation of C (W x + b) + d."""
    with precision(BITS):
        outputs, ends = balls(C), balls(x)
        rows = [c * e for c in outputs for e in ends] + outputs
        mean, parts = arb(d.item()), []
        for own, law in zip(weights.expand(-1, law_size(laws)), laws, strict=True):
            shares = [w * a for w, a in zip(balls(own), rows, strict=True)]
            mean += dot(shares, balls(law.loc))
            parts += [a * s for a, s in zip(shares, balls(law.scale), strict=True)]
        return mean, norm(*parts)


def law_size(laws: list[DiagonalGaussian]) -> int:
    return laws[0].dimension
