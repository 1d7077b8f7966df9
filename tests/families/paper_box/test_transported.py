"""The certificate against safe probabilities that are known in closed form."""

import math
from fractions import Fraction
from itertools import pairwise, product

import pytest
import torch
from problems import vector
from scipy.stats import norm

from fedcert.errors import ShapeMismatch
from fedcert.families.cells import Cells
from fedcert.families.paper_box.direct import certify_direct
from fedcert.families.paper_box.local import certify_local
from fedcert.families.paper_box.transported import certify_transported
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule
from fedcert.search import exhaustive, exhaustive_within, heaviest_first
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier

NETWORK = mlp(1, 1)  # f(x) = w x + b


def half_space(x: float, threshold: float, verifier=None) -> Safe:
    """Safe where w x + b ≥ threshold: at x = 0 in one dimension (b alone), otherwise in two."""
    properties = Properties(Box.point(vector(x)[None]), vector(1.0)[None, None], vector(-threshold)[None])
    return Safe(NETWORK, properties, verifier or IntervalVerifier())


def grid_cells(law: DiagonalGaussian, per_axis: tuple[int, int]) -> Cells:
    """Cells that tile ±6 deviations, some number along w and some along b."""
    sides = []
    for loc, scale, count in zip(law.loc.tolist(), law.scale.tolist(), per_axis, strict=True):
        edges = [loc + scale * (12 * i / count - 6) for i in range(count + 1)]
        sides.append(list(pairwise(edges)))
    ends = list(product(*sides))
    lower = torch.tensor([[low for low, _ in cell] for cell in ends], dtype=torch.float64)
    upper = torch.tensor([[high for _, high in cell] for cell in ends], dtype=torch.float64)
    boxes = Box(lower, upper)
    return Cells.shared(boxes, law.log_mass(boxes))


LAWS = [
    DiagonalGaussian(vector(0.3, 0.5), vector(0.5, 1.0)),
    DiagonalGaussian(vector(-0.2, 1.0), vector(1.0, 0.7)),
]
CASES = [
    # clients, x, threshold, grids from coarse to fine, gap allowed at the finest
    pytest.param(1, 0.0, -0.5, [(1, 4), (1, 16), (1, 64), (1, 256)], 0.02, id="one-client-1d"),
    pytest.param(2, 0.0, 0.2, [(1, 4), (1, 16), (1, 64)], 0.06, id="two-clients-1d"),
    pytest.param(1, 1.0, 0.2, [(4, 4), (16, 16), (32, 32)], 0.2, id="one-client-2d"),
    pytest.param(2, 1.0, -0.5, [(2, 2), (4, 4), (8, 8)], 0.4, id="two-clients-2d"),
]


def exact_probability(laws, weights, x: float, threshold: float) -> float:
    mean = sum(w * (law.loc[0] * x + law.loc[1]) for w, law in zip(weights, laws, strict=True))
    variance = sum(
        w**2 * ((law.scale[0] * x) ** 2 + law.scale[1] ** 2) for w, law in zip(weights, laws, strict=True)
    )
    return float(norm.sf((threshold - mean) / math.sqrt(variance)))


@pytest.mark.parametrize(("clients", "x", "threshold", "grids", "gap"), CASES)
@pytest.mark.parametrize("verifier", [IntervalVerifier(), MergedIntervalVerifier()])
def test_refining_the_grid_climbs_to_the_exact_probability(
    clients, x, threshold, grids, gap, verifier
) -> None:
    laws, sizes = LAWS[:clients], [3, 1][:clients]
    rule = LinearRule.fedavg(sizes)
    exact = exact_probability(laws, (rule.weights[:, 0]).tolist(), x, threshold)
    safe = half_space(x, threshold, verifier)
    bounds = [
        certify_transported(
            [grid_cells(law, grid) for law in laws], rule, safe, exhaustive, 10**6, "grid"
        ).lower.item()
        for grid in grids
    ]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= exact
    assert exact - bounds[-1] < gap
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("search", [exhaustive, heaviest_first, exhaustive_within(100)])
def test_any_search_run_to_the_end_gives_the_same_bound(search) -> None:
    cells = [grid_cells(law, (2, 6)) for law in LAWS]
    rule, safe = LinearRule.fedavg([1, 1]), half_space(1.0, 0.0)
    full = certify_transported(cells, rule, safe, exhaustive, 10**6, "grid").lower
    found = certify_transported(cells, rule, safe, search, 10**6, "grid").lower
    torch.testing.assert_close(found, full, rtol=1e-12, atol=0)
    assert full.item() > 0.1


@pytest.mark.parametrize("repeated", [[(0, 0)] * 3, [(1, 2), (0, 0), (1, 2)]])
def test_a_tuple_that_comes_again_is_not_counted_again(repeated) -> None:
    cells = [grid_cells(law, (2, 6)) for law in LAWS]
    rule, safe = LinearRule.fedavg([1, 1]), half_space(1.0, -1000.0)
    bounds = [
        certify_transported(cells, rule, safe, lambda masses, t=tuples: iter(t), 100, "grid").lower.item()
        for tuples in (repeated, list(dict.fromkeys(repeated)))
    ]
    assert bounds[0] == bounds[1] > 0


@pytest.mark.parametrize("outside", [(0, 12), (-1, 0), (0,)])
def test_an_index_outside_the_cells_raises(outside) -> None:
    cells = [grid_cells(law, (2, 6)) for law in LAWS]
    rule, safe = LinearRule.fedavg([1, 1]), half_space(1.0, 0.0)
    with pytest.raises(ShapeMismatch, match="the search gave"):
        certify_transported(cells, rule, safe, lambda masses: iter([outside]), 100, "grid")


def test_a_larger_budget_never_lowers_the_bound_and_a_small_one_takes_the_heaviest() -> None:
    cells = [grid_cells(law, (2, 6)) for law in LAWS]
    rule, safe = LinearRule.fedavg([1, 1]), half_space(1.0, -2.0)
    bounds = [
        certify_transported(cells, rule, safe, heaviest_first, budget, "grid").lower.item()
        for budget in (1, 10, 50, 144)
    ]
    assert bounds == sorted(bounds)
    lexicographic = certify_transported(cells, rule, safe, exhaustive, 10, "grid").lower.item()
    assert bounds[1] > lexicographic


def test_the_sum_of_masses_is_below_the_exact_sum() -> None:
    cells = [grid_cells(law, (3, 7)) for law in LAWS]
    rule, safe = LinearRule.fedavg([1, 1]), half_space(1.0, -1000.0)  # everything is safe
    found = certify_transported(cells, rule, safe, exhaustive, 10**6, "grid").lower.item()
    total = math.prod(sum(Fraction(math.exp(m)) for m in own.log_mass.tolist()) for own in cells)
    assert Fraction(found) <= total * (1 + Fraction(1, 10**12))
    assert found == pytest.approx(float(total), rel=1e-10)


def test_batches_of_tuples_do_not_change_the_bound_beyond_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [grid_cells(law, (2, 6)) for law in LAWS]
    rule, safe = LinearRule.fedavg([1, 1]), half_space(1.0, 0.0)
    whole = certify_transported(cells, rule, safe, exhaustive, 10**6, "grid").lower.item()
    sizes = []
    original = Safe.__call__
    monkeypatch.setattr("fedcert.families.paper_box.transported.BATCH_ELEMENTS", 10)
    monkeypatch.setattr(
        Safe, "__call__", lambda self, boxes: sizes.append(len(boxes)) or original(self, boxes)
    )
    pieces = certify_transported(cells, rule, safe, exhaustive, 10**6, "grid").lower.item()
    assert max(sizes) == 5  # images in memory at a time, whatever the budget
    assert sum(sizes) == 144
    assert pieces == pytest.approx(whole, rel=1e-12)


def test_properties_use_their_own_collections() -> None:
    """Two properties, screened differently: each counts its own cells, and none without cells."""
    law = LAWS[0]
    own = grid_cells(law, (1, 4))
    member = torch.tensor([[True, True, True, True], [False, False, True, True], [False] * 4])
    cells = Cells(own.boxes, own.log_mass, member)
    one = torch.ones(3, 1, dtype=torch.float64)
    properties = Properties(Box.point(0 * one), one[:, None], 1000 * one)
    safe = Safe(NETWORK, properties, IntervalVerifier())
    rule = LinearRule.fedavg([1])
    transported = certify_transported([cells], rule, safe, exhaustive, 100, "grid").lower
    direct = certify_direct(cells, safe, "fedavg", "grid").lower
    masses = own.log_mass.exp()
    assert transported.tolist() == pytest.approx([masses.sum().item(), masses[2:].sum().item(), 0.0])
    assert direct.tolist() == pytest.approx(transported.tolist())


def test_a_client_without_cells_gives_nothing() -> None:
    empty = Cells.shared(Box.point(torch.zeros(0, 2, dtype=torch.float64)), vector())
    rule, safe = LinearRule.fedavg([1, 1]), half_space(1.0, -1000.0)
    cells = [grid_cells(LAWS[0], (2, 2)), empty]
    assert certify_transported(cells, rule, safe, exhaustive, 100, "grid").lower.item() == 0.0


def test_the_number_of_clients_must_fit_the_rule() -> None:
    rule, safe = LinearRule.fedavg([1, 1]), half_space(1.0, 0.0)
    with pytest.raises(ShapeMismatch, match="cells of 1 clients, a rule for 2"):
        certify_transported([grid_cells(LAWS[0], (1, 1))], rule, safe, exhaustive, 1, "grid")


def test_local_is_the_mean_of_the_clients_and_not_a_claim_about_deployment() -> None:
    cells = [grid_cells(law, (1, 64)) for law in LAWS]
    safe = half_space(0.0, 0.2)
    local = certify_local(cells, safe, "fedavg", "grid")
    singles = [certify_direct(own, safe, "fedavg", "grid").lower.item() for own in cells]
    assert local.lower.item() == pytest.approx(sum(singles) / 2)
    assert local.claim.kind == "local"
    for own, law in zip(singles, LAWS, strict=True):
        exact = exact_probability([law], [1.0], 0.0, 0.2)
        assert own <= exact < own + 0.06
