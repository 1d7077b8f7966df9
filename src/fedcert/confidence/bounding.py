"""Confidence bounds: draw networks from the deployed pipeline, judge each, count, take exact limits."""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import torch
from jaxtyping import Int64
from torch import Tensor

from fedcert.confidence.boxes import judge_boxes
from fedcert.confidence.cascade import PAIR_ELEMENTS, Asked, Verdicts, judge
from fedcert.confidence.chain import chain_of, is_chain
from fedcert.confidence.clients import client_of, draw_all
from fedcert.confidence.deployed import Drawn, deploy
from fedcert.confidence.pooled import draw_pooled
from fedcert.confidence.result import ConfidenceBound
from fedcert.confidence.shared import SharedBounds
from fedcert.confidence.statement import digest_of
from fedcert.errors import InvalidConfig, ShapeMismatch
from fedcert.families.problem import Problem
from fedcert.model.layers import Unrolled
from fedcert.model.properties import Properties
from fedcert.numerics.rounding import require_gradual_underflow
from fedcert.progress import Tracker, silent
from fedcert.rules import Pooling
from fedcert_check.clopper_pearson import clopper_pearson_lower, clopper_pearson_upper
from fedcert_check.confidence.level import allowed
from fedcert_check.confidence.seed import philox_key, seed_of
from fedcert_check.digest import digest

MAX_DRAWS = 2**31 - 1
BATCH_ELEMENTS = {"cpu": 2**23}
"""Numbers that the largest tensor of a batch may hold, by the type of the device."""
OTHER_BATCH_ELEMENTS = 2**29


def bound(
    problem: Problem,
    draws: int,
    beta: float = 0.05,
    messages: Sequence[str] | None = None,
    device: torch.device | str = "cpu",
    track: Tracker = silent,
) -> ConfidenceBound:
    """Bounds of Pr(safe) at confidence 1 − β, for all properties together.

    Of N networks Θ_g = A(Θ_1, …, Θ_n) with Θ_i ~ q_i, some are proven safe for a property and some are broken
    by an input. Clopper and Pearson's limits of both counts, each at level β/(2P), hold for all P properties
    together with probability 1 − β. The seed is the digest of what is claimed (`seed_of`).

    Args:
        problem: network, properties, laws and rule. The laws are Gaussians, of independent parameters, dense
            or stated by blocks, and mixtures of diagonal ones.
        draws: N.
        beta: β in (0, 1), the decimal number that the float is printed as.
        messages: the digests of the messages that state the laws, in the order of the rule's weights; None
            if there are no messages: then digests of the laws stand in their place.
        device: where networks are judged.
        track: shows progress.

    Examples:
        >>> import fedcert
        >>> loc = torch.tensor([1.0, 0.0, 0.1, 0.0]).double()  # f(x) is about (x + 0.1, 0)
        >>> law = fedcert.DiagonalGaussian(loc, torch.full_like(loc, 0.01))
        >>> asked = fedcert.linf_robustness([[0.5]], [0], 0.1, classes=2)
        >>> problem = Problem(fedcert.mlp(1, 2), asked, (law,), fedcert.LinearRule.fedavg([1]))
        >>> bound(problem, draws=100).lower.item() > 0.9
        True
    """
    if not 1 <= draws <= MAX_DRAWS:
        raise InvalidConfig(f"{draws} draws: ask for 1 to {MAX_DRAWS}")
    if not 0 < beta < 1:
        raise InvalidConfig(f"beta must lie strictly between 0 and 1, not {beta}")
    require_gradual_underflow()
    seed = seed_of_problem(problem, draws, beta, messages)
    proven, broken = _count(problem, draws, philox_key(seed), torch.device(device), track)
    level = allowed(beta) / (2 * len(problem.properties))
    lower = [clopper_pearson_lower(k, draws, level) for k in proven.tolist()]
    upper = [clopper_pearson_upper(draws - k, draws, level) for k in broken.tolist()]
    return ConfidenceBound(
        problem.rule.name,
        torch.tensor(lower, dtype=torch.float64),
        torch.tensor(upper, dtype=torch.float64),
        proven,
        broken,
        draws,
        beta,
        seed,
    )


def seed_of_problem(problem: Problem, draws: int, beta: float, messages: Sequence[str] | None = None) -> str:
    """The digest of what is claimed, which the draws are made from.

    Args:
        problem: network, properties, laws and rule.
        draws: N.
        beta: β.
        messages: the digests of the messages; None if there are none.
    """
    if messages is not None and len(messages) != len(problem.laws):
        raise ShapeMismatch(f"{len(messages)} messages for the laws of {len(problem.laws)} clients")
    header, coefficients = problem.rule.describe()
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in coefficients.items()}
    laws = [digest_of(law) for law in problem.laws] if messages is None else list(messages)
    asked = properties_digest(problem.properties)
    return seed_of(laws, header, arrays, problem.network.describe(), asked, draws, beta)


def properties_digest(properties: Properties) -> str:
    """The digest of the properties, as certificates have it."""
    regions = properties.regions
    asked = {"lower": regions.lower, "upper": regions.upper, "C": properties.C, "d": properties.d}
    return digest({}, {name: tensor.cpu().numpy() for name, tensor in asked.items()})


def _count(
    problem: Problem, draws: int, key: tuple[int, int], device: torch.device, track: Tracker
) -> tuple[Int64[Tensor, "P"], Int64[Tensor, "P"]]:
    """How many draws are proven safe, and how many are broken, for each property."""
    rule, properties = problem.rule.to(device), problem.properties.to(device)
    clients = [client_of(law).to(device) for law in problem.laws]
    counts = torch.zeros(2, len(properties), dtype=torch.int64)
    elements = BATCH_ELEMENTS.get(device.type, OTHER_BATCH_ELEMENTS)
    size = _batch(problem, elements, max(client.normals for client in clients))
    starts, shared = range(0, draws, size), SharedBounds()
    with ThreadPoolExecutor(os.cpu_count()) as workers, torch.no_grad():
        for start in track(starts, "judging drawn networks", len(starts)):
            numbers = range(start, min(start + size, draws))
            if isinstance(rule, Pooling):
                drawn, known = draw_pooled(rule, problem.network, clients, key, numbers, workers)
            else:
                thetas, known = draw_all(clients, key, numbers, workers)
                drawn = deploy(rule, problem.network, clients, thetas)
            found = _judge(problem, drawn, properties, elements, shared)
            for row, verdict in zip(counts, found, strict=True):
                row += verdict.cpu()[known].sum(0)
    return counts[0], counts[1]


def _judge(
    problem: Problem, drawn: Drawn, properties: Properties, elements: int, shared: SharedBounds
) -> Verdicts:
    if not is_chain(problem.network):
        return judge_boxes(problem.network, drawn, properties)
    pairs = max(PAIR_ELEMENTS, elements // 4)
    return judge(chain_of(problem.network, drawn), Asked.of(properties), pairs, shared)


def _batch(problem: Problem, elements: int, normals: int) -> int:
    """How many networks are drawn at a time: rows of coefficients, parameters and normals take memory."""
    widths = [math.prod(shape) for shape in problem.network.value_shapes]
    rows = problem.properties.d.numel() * max(widths)
    layers = zip(problem.network.layers, pairwise(widths), strict=True)
    matrices = sum(inputs * outputs for layer, (inputs, outputs) in layers if isinstance(layer, Unrolled))
    return max(1, elements // max(rows, matrices, normals))
