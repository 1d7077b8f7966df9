"""Problems for confidence bounds: random federations, and tiny ones whose probabilities are known."""

import math
from pathlib import Path

import torch
from dependent_problems import Structure
from dependent_problems import law as structured
from problems import normal, uniform, vector
from saved import make_federation, make_rules
from torch import Tensor

from fedcert.confidence import ConfidenceBound, bound
from fedcert.families.problem import Problem
from fedcert.laws import (
    BlockGaussian,
    DenseBlock,
    DenseGaussian,
    DiagonalGaussian,
    GaussianMixture,
    KroneckerBlock,
    Law,
)
from fedcert.model.layers import AvgPool2d, Conv2d, Linear, ReLU, ResidualSum
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearRule, Pooling, TrimmedMean
from fedcert.wire.confidence_file import save_confidence

NOISE = 2.0**-60  # of the bias in problems about one weight


def one_weight(laws: list[Law], rule: AggregationRule, *thresholds: float) -> Problem:
    """Is the deployed weight at least a threshold? f(x) = w x + b at x = 1, where b is all but 0."""
    at_one = torch.ones(len(thresholds), 1, dtype=torch.float64)
    d = -vector(*thresholds).unsqueeze(-1)
    return Problem(
        mlp(1, 1), Properties(Box.point(at_one), torch.ones_like(d)[..., None], d), tuple(laws), rule
    )


def weight_law(mean: float, scale: float = 1.0) -> DiagonalGaussian:
    """A weight of this law, and a bias that is all but 0."""
    return DiagonalGaussian(vector(mean, 0.0), vector(scale, NOISE))


def above(mean: float, scale: float, threshold: float) -> float:
    """Pr(N(mean, scale²) ≥ threshold)."""
    return math.erfc((threshold - mean) / (scale * math.sqrt(2))) / 2


def exact_problem(kind: str, generator: torch.Generator) -> tuple[Problem, list[float]]:
    """A problem about one weight with the probability of each of its properties."""
    means, thresholds = normal(generator, 3).tolist(), normal(generator, 2).tolist()
    if kind == "mean":
        mean, scale = sum(means) / 3, 1 / math.sqrt(3)
        laws, rule = [weight_law(m) for m in means], LinearRule.fedavg([1, 1, 1])
        return one_weight(laws, rule, *thresholds), [above(mean, scale, t) for t in thresholds]
    if kind == "median":
        each = [above(means[0], 1.0, t) for t in thresholds]
        laws, rule = [weight_law(means[0]) for _ in range(3)], TrimmedMean.median(3)
        return one_weight(laws, rule, *thresholds), [p * p * (3 - 2 * p) for p in each]
    weights = (0.1 + uniform(generator, 3)).tolist()
    law = GaussianMixture(tuple(weight_law(m, 0.5) for m in means), vector(*weights))
    shares = [
        sum(w * above(m, 0.5, t) for w, m in zip(weights, means, strict=True)) / sum(weights)
        for t in thresholds
    ]
    return one_weight([law], LinearRule.fedavg([1]), *thresholds), shares


def half_space_law(generator: torch.Generator, kind: str) -> BlockGaussian | DenseGaussian:
    """A law of the two weights and the bias of one neuron, which depend on each other."""
    loc = normal(generator, 3)
    if kind == "dense":
        return DenseGaussian(loc, normal(generator, 3, 4) / 2)
    left, right = normal(generator, 1, 1), normal(generator, 2, 2)
    weights = KroneckerBlock(0, left, right, 0.3 + uniform(generator, 1, 2))
    return BlockGaussian(loc, (weights, DenseBlock(1, normal(generator, 2, 1))))


def half_space_problem(kind: str, generator: torch.Generator) -> tuple[Problem, list[float]]:
    """Is w·x + b ≥ t at a point? Three clients whose weights depend on each other, and the probabilities."""
    laws = [half_space_law(generator, kind) for _ in range(3)]
    rule = LinearRule.fedavg([1, 2, 1])
    x, thresholds = normal(generator, 2, 2), normal(generator, 2)
    rows = torch.cat([x, torch.ones(2, 1).double()], dim=1)
    deployed = rule.pushforward(laws)
    blocks = BlockGaussian.of(deployed).blocks
    variance = torch.zeros(2).double()
    for own in blocks:
        matrix = own.noise(torch.eye(own.columns).double()).mT
        variance += (rows[:, own.start : own.start + own.size] @ matrix).square().sum(-1)
    moments = zip((rows @ deployed.loc).tolist(), variance.sqrt().tolist(), thresholds.tolist(), strict=True)
    asked = Properties(Box.point(x), torch.ones(2, 1, 1).double(), -thresholds.unsqueeze(-1))
    return Problem(mlp(2, 1), asked, tuple(laws), rule), [above(*own) for own in moments]


def dependent_problem(seed: int, structure: Structure, rule: str = "fedavg") -> Problem:
    """Three clients whose parameters depend on each other, and properties that hold for some draws only."""
    problem, generator = random_problem(seed), seeded("dependent", seed, structure)
    laws = [structured(generator, problem.network, structure, law.loc, 0.05) for law in problem.laws]
    return Problem(problem.network, problem.properties, tuple(laws), dependent_rule(rule))


def dependent_rule(name: str) -> AggregationRule:
    """Rules that deploy any clients' draws."""
    weights = vector(0.5, 0.75, -0.25).unsqueeze(-1)
    return {
        "fedavg": LinearRule.fedavg([1, 2, 3]),
        "linear": LinearRule(weights),
        "median": TrimmedMean.median(3),
        "pooling": Pooling(weights.abs()),
    }[name]


def last_layer_image_problem(seed: int, rule: str, kind: str) -> Problem:
    """Convolutions that are fixed, and a last layer whose weights depend on each other."""
    problem, generator = image_problem(seed), seeded("last layer", seed, kind)
    laws = []
    for law in problem.laws:
        start = law.dimension - 14
        if kind == "full":
            blocks = (DenseBlock(start, 0.05 * normal(generator, 14, 14)),)
        else:
            left, right = normal(generator, 2, 2), normal(generator, 6, 6)
            scale = 0.01 + 0.02 * uniform(generator, 2, 6)
            biases = DenseBlock(start + 12, 0.05 * normal(generator, 2, 2))
            blocks = (KroneckerBlock(start, left, right, scale), biases)
        laws.append(BlockGaussian(law.loc, blocks))
    return Problem(problem.network, problem.properties, tuple(laws), dependent_rule(rule))


def random_problem(seed: int, rule: str = "fedavg", widths: tuple[int, ...] = (3, 6, 5, 2)) -> Problem:
    """Three clients and properties that hold for some draws only."""
    federation = make_federation(seed, widths, scale=0.05)
    laws: list[Law] = list(federation.laws)
    if rule == "mixture":
        laws[0] = GaussianMixture((laws[0], laws[1]), vector(1.0, 2.5))
    own = make_rules(federation)["fedavg" if rule == "mixture" else rule]
    asked = federation.safe.properties
    regions = Box.around((asked.regions.lower + asked.regions.upper) / 2, 0.01 + 0.05 * (seed % 3))
    return Problem(federation.safe.network, Properties(regions, asked.C, asked.d), tuple(laws), own)


def image_problem(seed: int, rule: str = "fedavg") -> Problem:
    """The same for a convolution, means over windows, and a fully connected layer."""
    network = Network((
        Conv2d((1, 4, 4), 3, (2, 2), (1, 1), (0, 1)), ReLU(), AvgPool2d((3, 3, 5), (3, 2), (1, 1)),
        Conv2d((3, 1, 4), 2, (1, 2)), ReLU(), Linear(6, 2),
    ))  # fmt: skip
    return network_problem(network, seed, rule)


def residual_problem(seed: int, rule: str = "fedavg") -> Problem:
    """The same for a residual addition between fully connected layers."""
    block = ResidualSum((Linear(5, 4), ReLU(), Linear(4, 5)))
    return network_problem(Network((Linear(16, 5), ReLU(), block, ReLU(), Linear(5, 2))), seed, rule)


def network_problem(network: Network, seed: int, rule: str) -> Problem:
    """Three clients with this network, and properties that hold for some draws only."""
    generator = stream(seed, "images")
    loc = network.initialise(generator).double()
    laws = [
        DiagonalGaussian(loc + 0.01 * normal(generator, len(loc)), torch.full_like(loc, 0.05))
        for _ in range(3)
    ]
    x = uniform(generator, 4, 16)
    C = normal(generator, 4, 2, 2)
    d = -torch.einsum("prk,pk->pr", C, network(loc, x)) + 0.02 * normal(generator, 4, 2).abs()
    own = LinearRule.fedavg([1, 1, 1]) if rule == "fedavg" else TrimmedMean.median(3)
    return Problem(network, Properties(Box.around(x, 0.002 * (seed + 1)), C, d), tuple(laws), own)


def saved(
    folder: Path, problem: Problem, draws: int = 60, beta: float = 0.05
) -> tuple[Path, ConfidenceBound]:
    """A confidence bound that states the laws itself, and its file."""
    found = bound(problem, draws, beta)
    path = folder / "confidence" / "bound.safetensors"
    save_confidence(path, found, problem)
    return path, found


def outputs(theta: Tensor) -> Tensor:
    """The weight of a drawn network."""
    return theta[..., 0]


def seeded(*names: str | int) -> torch.Generator:
    """A generator of tests."""
    return stream(0, "confidence", *names)
