"""Every rule, law and search against the exact probability, in one dimension.

Networks w x + b at x = 0, so that only the bias matters: safe where the aggregate of three biases is ≥ t.
"""

import math
from itertools import pairwise, product

import pytest
import torch
from problems import vector
from scipy.stats import norm
from torch import Tensor

from fedcert.families.cells import Cells
from fedcert.families.hull import certify_hulls
from fedcert.families.mean_box.tiles import split_boxes
from fedcert.families.paper_box.transported import certify_transported
from fedcert.laws import DiagonalGaussian, GaussianMixture, Law
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import AggregationRule, LinearRule, TrimmedMean
from fedcert.search import exhaustive, heaviest_first
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier

THRESHOLD = 0.2


def gaussian(bias: float, scale: float) -> DiagonalGaussian:
    return DiagonalGaussian(vector(0.0, bias), vector(1.0, scale))


LAWS: dict[str, list[Law]] = {
    "gaussian": [gaussian(0.5, 0.6), gaussian(1.0, 0.8), gaussian(0.2, 0.5)],
    "mixture": [
        GaussianMixture((gaussian(1.0, 0.4), gaussian(-1.0, 0.3)), vector(2.0, 1.0)),
        gaussian(1.0, 0.8),
        GaussianMixture((gaussian(0.5, 0.5), gaussian(2.0, 0.2)), vector(1.0, 1.0)),
    ],
}
RULES: dict[str, AggregationRule] = {
    "fedavg": LinearRule.fedavg([3, 1, 2]),
    "signed": LinearRule(vector(0.9, 0.5, -0.4)[:, None]),
    "server-step": LinearRule.server_step(vector(0.0, 0.4), 0.7, [1, 1, 1]),
    "median": TrimmedMean.median(3),
    "trimmed-mean": TrimmedMean(3, 1),
}


def exact_probability(rule: AggregationRule, laws: list[Law]) -> float:
    """Over all tuples of components: a Gaussian tail for linear rules, two of three for a median."""
    total = 0.0
    for parts in product(*(range(len(law.components)) for law in laws)):
        weight, components = 1.0, []
        for law, k in zip(laws, parts, strict=True):
            shares = law.weights / law.weights.sum() if isinstance(law, GaussianMixture) else vector(1.0)
            weight *= shares[k].item()
            components.append(law.components[k])
        total += weight * _component_probability(rule, components)
    return total


def _component_probability(rule: AggregationRule, laws: list[DiagonalGaussian]) -> float:
    if isinstance(rule, TrimmedMean):
        a, b, c = (norm.sf((THRESHOLD - law.loc[1].item()) / law.scale[1].item()) for law in laws)
        return a * b + a * c + b * c - 2 * a * b * c
    mean = rule([law.loc for law in laws])[1].item()
    variance = sum(
        w.item() ** 2 * law.scale[1].item() ** 2 for w, law in zip(rule.weights, laws, strict=True)
    )
    return float(norm.sf((THRESHOLD - mean) / math.sqrt(variance)))


def grid(law: Law, count: int) -> Cells:
    """Cells that tile the bias from −6 to 6 and span the weight, which does not matter."""
    edges = [12 * i / count - 6 for i in range(count + 1)]
    lower = vector(*(low for low, _ in pairwise(edges)))
    upper = vector(*(high for _, high in pairwise(edges)))
    wide = torch.full_like(lower, 8.0)
    boxes = Box(torch.stack([-wide, lower], -1), torch.stack([wide, upper], -1))
    return Cells.shared(boxes, law.log_mass(boxes))


def safe() -> Safe:
    properties = Properties(Box.point(vector(0.0)[None]), vector(1.0)[None, None], vector(-THRESHOLD)[None])
    return Safe(mlp(1, 1), properties, IntervalVerifier())


def search(name: str, laws: list[Law], rule: AggregationRule, cells: int) -> Tensor:
    grids = [grid(law, cells) for law in laws]
    match name:
        case "exhaustive":
            return certify_transported(grids, rule, safe(), exhaustive, 10**6, "grid").lower
        case "heaviest-first":
            return certify_transported(grids, rule, safe(), heaviest_first, 10**6, "grid").lower
        case "hull":
            return certify_hulls(grids, rule, safe(), 10**6, "grid").lower
        case "splitting":
            return split_boxes(laws, rule, safe(), 8 * cells).lower


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["exhaustive", "heaviest-first", "hull", "splitting"])
def test_refining_climbs_towards_the_exact_probability_and_never_above(
    name: str, rule: str, law: str
) -> None:
    exact = exact_probability(RULES[rule], LAWS[law])
    sizes = (3, 9) if name == "hull" else (3, 6, 24)
    bounds = [search(name, LAWS[law], RULES[rule], cells).item() for cells in sizes]
    assert all(after >= before * (1 - 1e-12) for before, after in pairwise(bounds))
    assert bounds[-1] <= exact
    assert bounds[-1] > bounds[0] or bounds[0] > 0.5 * exact
    assert len(sizes) < 3 or name == "splitting" or bounds[-1] > exact - 0.45
