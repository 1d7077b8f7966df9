"""Problems for confidence bounds: random federations, and tiny ones whose probabilities are known."""

import math
from pathlib import Path

import torch
from problems import normal, uniform, vector
from saved import make_federation, make_rules
from torch import Tensor

from fedcert.confidence import ConfidenceBound, bound
from fedcert.families.problem import Problem
from fedcert.laws import DiagonalGaussian, GaussianMixture, Law
from fedcert.model.layers import AvgPool2d, Conv2d, Linear, ReLU, ResidualSum
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, LinearRule, TrimmedMean
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
