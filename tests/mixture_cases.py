"""Federations of one-parameter-and-a-bias models whose safety has a closed form, also for mixtures."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import torch
from balls import precision
from flint import arb
from problems import vector

from fedcert.certificate import Certificate
from fedcert.families.cells import Cells
from fedcert.families.problem import Problem
from fedcert.laws import DiagonalGaussian, GaussianMixture, Law
from fedcert.laws.registry import StatedLaw
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import AggregationRule, LinearRule, Pooling
from fedcert.wire.certificate_file import save_certificate
from fedcert.wire.message import Message

NETWORK = mlp(1, 1)
POINT, OFFSET = 0.5, 0.25


def gaussian(weight: float, bias: float, scale: float) -> DiagonalGaussian:
    return DiagonalGaussian(vector(weight, bias), vector(scale, 2 * scale))


MIXED = GaussianMixture((gaussian(0.2, 0.1, 0.3), gaussian(-0.9, 0.1, 0.2)), vector(1.0, 2.0))
THREE = GaussianMixture(
    (gaussian(1.0, 0.0, 0.2), gaussian(0.3, -0.6, 0.4), gaussian(0.4, 0.2, 0.1)), vector(5.0, 0.25, 1.0)
)
PLAIN = gaussian(0.1, -0.1, 0.25)
LAWS: tuple[Law, ...] = (MIXED, PLAIN, THREE)


def properties() -> Properties:
    """Whether w x + b + d ≥ 0 at one input, and whether it is negative: half-spaces."""
    x, C = vector(POINT).expand(2, 1), torch.tensor([[[1.0]], [[-1.0]]]).double()
    return Properties(Box.point(x), C, vector(OFFSET, -OFFSET).unsqueeze(1))


def problem(rule: AggregationRule, laws: Sequence[Law] = LAWS) -> Problem:
    return Problem(NETWORK, properties(), tuple(laws), rule)


def narrow(law: Law) -> Law:
    """The same law with a fifteenth of its scales, so that boxes hold most of it."""
    parts = tuple(DiagonalGaussian(part.loc, part.scale / 15) for part in law.components)  # type: ignore[attr-defined]
    return GaussianMixture(parts, law.weights) if isinstance(law, GaussianMixture) else parts[0]


def fedavg() -> LinearRule:
    return LinearRule.fedavg([1, 2, 1])


def pooling() -> Pooling:
    return Pooling(torch.tensor([[1.0], [2.0], [4.0]]).double())


def safe_tuple(components: Sequence[DiagonalGaussian], weights: Sequence[float]) -> arb:
    """Pr(w x + b + d ≥ 0) for Σ_i a_i Θ_i."""
    mean, variance = arb(OFFSET), arb(0)
    for a, law in zip(weights, components, strict=True):
        (w, b), (s, t) = law.loc.tolist(), law.scale.tolist()
        mean = mean + arb(a) * (arb(w) * arb(POINT) + arb(b))
        variance = variance + arb(a) ** 2 * ((arb(s) * arb(POINT)) ** 2 + arb(t) ** 2)
    return (-mean / variance.sqrt() / arb(2).sqrt()).erfc() / 2


def shares(law: Law) -> list[arb]:
    if not isinstance(law, GaussianMixture):
        return [arb(1)]
    weights = [arb(w) for w in law.weights.tolist()]
    return [w / sum(weights, arb(0)) for w in weights]


def truth(rule: AggregationRule, laws: Sequence[Law] = LAWS) -> list[arb]:
    """The probabilities of both properties."""
    with precision(200):
        safe = arb(0)
        if isinstance(rule, Pooling):
            weights = [arb(w) for w in rule.weights[:, 0].tolist()]
            for weight, law in zip(weights, laws, strict=True):
                parts = zip(shares(law), law.components, strict=True)
                own = sum((s * safe_tuple([part], [1.0]) for s, part in parts), arb(0))
                safe = safe + weight / sum(weights, arb(0)) * own
        else:
            assert isinstance(rule, LinearRule)
            for chosen in product(*(zip(shares(law), law.components, strict=True) for law in laws)):
                weight = arb(1)
                for share, _ in chosen:
                    weight = weight * share
                safe = safe + weight * safe_tuple([law for _, law in chosen], rule.weights[:, 0].tolist())
        return [safe, 1 - safe]


def saved(folder: Path, asked: Problem, certificate: Certificate) -> Path:
    """Messages and certificate as a run writes them."""
    messages = []
    for i, law in enumerate(asked.laws):
        assert isinstance(law, StatedLaw)
        messages.append(Message(f"client-{i}", law, Cells.none(law.dimension), 10 + i))
        messages[-1].save(folder / "messages" / f"{i}.safetensors")
    path = folder / "certificates" / "own.safetensors"
    save_certificate(path, certificate, asked.network, asked.properties, asked.rule, messages)
    return path
