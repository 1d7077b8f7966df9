"""Networks made to fool verifiers, each with its exact truth.

Planted counterexamples follow SoundnessBench (Zhou et al., 2024), cancelling weights the attacks of Jia and
Rinard (2021) and of Zombori et al. (2021) on verifiers that trust floating point.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import torch
from oracles import exact, forward
from problems import normal, uniform
from torch import Tensor

from fedcert.laws import DiagonalGaussian
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule
from fedcert.verify.attack import ProjectedGradient

HUGE = 2.0**54  # 2^54 ± 1 are no floats
TINY = 1e-40  # a posterior scale that no margin here notices


@dataclass(frozen=True)
class Fooling:
    """Clients, their rule, a network, properties, and what is true of the deployed mean network.

    Attributes:
        name: of the trick.
        network: f.
        laws: of the clients, so narrow that the mean network decides.
        rule: deploys the sum of the clients' parameters, weighted.
        properties: P of them.
        least: for each, the exact margin of the mean network at the worst input of the region that is known.
    """

    name: str
    network: Network
    laws: tuple[DiagonalGaussian, ...]
    rule: LinearRule
    properties: Properties
    least: tuple[Fraction, ...]

    @property
    def unsafe(self) -> Tensor:
        """Which properties the mean network violates."""
        return torch.tensor([margin < 0 for margin in self.least])

    @property
    def safe(self) -> Tensor:
        """Which properties are known to hold: of a region that is one point, the margin is all there is."""
        regions = self.properties.regions
        return ~self.unsafe & (regions.lower == regions.upper).all(-1)

    def image(self) -> Box:
        """A box around the deployed mean, by the rule under test."""
        found = self.rule.image([Box.point(law.loc) for law in self.laws])
        return Box(found.lower.unsqueeze(0), found.upper.unsqueeze(0))

    def floats(self) -> Tensor:
        """The margins at the first end of each region as floating point has them."""
        theta = self.rule([law.loc for law in self.laws])
        outputs = self.network(theta, self.properties.regions.lower)
        return torch.einsum("prk,pk->pr", self.properties.C, outputs) + self.properties.d


def vector(values: Sequence[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def alone(theta: Tensor, scale: float = TINY) -> tuple[tuple[DiagonalGaussian, ...], LinearRule]:
    """One client that deploys its own network."""
    return (DiagonalGaussian(theta, torch.full_like(theta, scale)),), LinearRule(torch.ones(1, 1).double())


def units(count: int, points: Tensor, d: Sequence[float]) -> Properties:
    """Property j: output j plus d_j is ≥ 0 at a point."""
    return Properties(Box.point(points), torch.eye(count).double().unsqueeze(1), vector(d).unsqueeze(-1))


def orders() -> Tensor:
    """Rows that sum to −1 in every order of summation, and to 1; floating point finds 0 for many."""
    return vector([*permutations([HUGE, -1.0, -HUGE]), *permutations([HUGE, 1.0, -HUGE])])


HALF = Fraction(1, 2)


def cancelling_weights() -> Fooling:
    theta = torch.cat([orders().flatten(), torch.zeros(12).double()])
    properties = units(12, torch.ones(12, 3).double(), [0.5] * 6 + [-0.5] * 6)
    return Fooling("weights", mlp(3, 12), *alone(theta), properties, (-HALF,) * 6 + (HALF,) * 6)


def cancelling_hidden_weights() -> Fooling:
    """The pre-activations are 2 ± 1, and 2 in floating point."""
    layers = [orders().flatten(), 2 * torch.ones(12), torch.eye(12).flatten(), torch.zeros(12)]
    properties = units(12, torch.ones(12, 3).double(), [-1.5] * 6 + [-2.5] * 6)
    theta = torch.cat([part.double() for part in layers])
    return Fooling("hidden weights", mlp(3, 12, 12), *alone(theta), properties, (-HALF,) * 6 + (HALF,) * 6)


def cancelling_inputs() -> Fooling:
    theta = torch.cat([torch.ones(36), torch.zeros(12)]).double()
    properties = units(12, orders(), [0.5] * 6 + [-0.5] * 6)
    return Fooling("inputs", mlp(3, 12), *alone(theta), properties, (-HALF,) * 6 + (HALF,) * 6)


def cancelling_biases() -> Fooling:
    """relu(x + 2^54) − 2^54 is x, but 0 in floating point."""
    theta = vector([1.0, HUGE, 1.0, -HUGE])
    properties = Properties(
        Box.point(vector([-1.0, 1.0]).unsqueeze(-1)),
        torch.ones(2, 1, 1).double(),
        vector([0.5, -0.5]).view(2, 1),
    )
    return Fooling("biases", mlp(1, 1, 1), *alone(theta), properties, (-HALF, HALF))


def cancelling_constraints() -> Fooling:
    theta = torch.cat([torch.zeros(3), torch.ones(3)]).double()
    C, d = orders().unsqueeze(1), vector([0.5] * 6 + [-0.5] * 6).unsqueeze(-1)
    properties = Properties(Box.point(torch.ones(12, 1).double()), C, d)
    return Fooling("constraints", mlp(1, 3), *alone(theta), properties, (-HALF,) * 6 + (HALF,) * 6)


def cancelling_clients(order: int) -> Fooling:
    """Clients whose means add up to ±1: 0 in floating point."""
    scale = vector([TINY, TINY])
    laws = tuple(DiagonalGaussian(vector([mean, 0.0]), scale) for mean in orders()[order].tolist())
    properties = units(1, torch.ones(1, 1).double(), [0.5 if order < 6 else -0.5])
    rule = LinearRule(torch.ones(3, 1).double())
    return Fooling(f"clients {order}", mlp(1, 1), laws, rule, properties, (HALF if order >= 6 else -HALF,))


def near_zero(seed: int, widths: Sequence[int] = (2, 3, 2), steps: int = 5) -> Fooling:
    """Margins some steps of a float to either side of 0, all of them known exactly."""
    network, generator = mlp(*widths), stream(seed, "near zero")
    theta = normal(generator, network.parameters)
    x, C = normal(generator, 1, widths[0]), normal(generator, 1, 1, widths[-1])
    value = constraint(forward(network, theta, x[0]), C[0, 0])
    offsets = [float(-value)]
    for _ in range(steps):
        offsets = [math.nextafter(offsets[0], -math.inf), *offsets, math.nextafter(offsets[-1], math.inf)]
    count = len(offsets)
    properties = Properties(
        Box.point(x.expand(count, -1)), C.expand(count, -1, -1), vector(offsets).unsqueeze(-1)
    )
    least = tuple(value + exact(d) for d in offsets)
    return Fooling(f"near zero {seed}", network, *alone(theta), properties, least)


def clearly_safe(seed: int, relative: float = 1e-6, scale: float = TINY) -> Fooling:
    """The same network with a margin of a millionth of what is added up: it must be proven."""
    fooling = near_zero(seed, steps=0)
    theta, properties = fooling.laws[0].loc, fooling.properties
    size = sum(abs(exact(v)) for v in properties.d.flatten()) + 1
    d = properties.d + relative * float(size)
    least = fooling.least[0] - exact(properties.d) + exact(d)
    moved = Properties(properties.regions, properties.C, d)
    return Fooling(f"clearly safe {seed}", fooling.network, *alone(theta, scale), moved, (least,))


def constraint(outputs: Sequence[Fraction], row: Tensor) -> Fraction:
    return sum((exact(c) * value for c, value in zip(row, outputs, strict=True)), Fraction(0))


def planted(seed: int, hidden: int = 32, scale: float = 1e-9) -> Fooling:
    """A network trained to hold a margin on samples of [−1, 1]² and to break it at one point of it.

    What attacks find is trained away, so that they overlook the point. The properties are the 64 tiles of
    the square; of a tile, two corners and the centre are known, and what is nearest to the point.
    """
    network, generator = mlp(2, hidden, 2), stream(seed, "planted")
    point = 0.6 * (2 * uniform(generator, 1, 2).round() - 1)
    C, square = vector([1.0, -1.0]), whole_square()
    theta = 2 * network.initialise(generator).double()
    theta.requires_grad_()
    optimiser, attack, attacked = (
        torch.optim.Adam([theta], lr=0.02),
        ProjectedGradient(),
        torch.zeros(1, 2).double(),
    )
    for step in range(400):
        if step % 10 == 0:
            worst, _ = attack(network, theta.detach().unsqueeze(0), square)
            attacked = torch.cat([attacked, worst[0]])[-20:]
        samples = torch.cat([2 * uniform(generator, 64, 2) - 1, attacked])
        holds, broken = (network(theta, x) @ C for x in (samples, point))
        loss = (0.5 - holds).clamp(min=0.0).square().mean() + (broken + 0.1).clamp(min=0.0).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = theta.detach()
    lower = vector([(i / 4 - 1, j / 4 - 1) for i in range(8) for j in range(8)])
    tiles = Properties(Box(lower, lower + 0.25), square.C.expand(64, -1, -1), square.d.expand(64, -1))
    known = [lower, lower + 0.25, lower + 0.125, point.expand(64, -1).clamp(min=lower, max=lower + 0.25)]
    least = tuple(
        min(constraint(forward(network, found, x), C) for x in own) for own in zip(*known, strict=True)
    )
    return Fooling(f"planted {seed}", network, *alone(found, scale), tiles, least)


def whole_square() -> Properties:
    """The first output exceeds the second on [−1, 1]²."""
    end = torch.ones(1, 2).double()
    return Properties(Box(-end, end), vector([1.0, -1.0]).view(1, 1, 2), torch.zeros(1, 1).double())


def cancelling() -> list[Fooling]:
    """All that cancel."""
    makers = (cancelling_weights, cancelling_hidden_weights, cancelling_inputs, cancelling_biases)
    return [
        *(make() for make in (*makers, cancelling_constraints)),
        *map(cancelling_clients, (0, 1, 4, 6, 7, 10)),
    ]
