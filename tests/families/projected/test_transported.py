"""Transported projected certificates: from the clients' own projections, against direct ones and attacks."""

from itertools import pairwise

import pytest
import torch
from federated_problems import Federated, make_federated
from problems import vector

from fedcert.certificate import Certificate, clopper_pearson
from fedcert.errors import ShapeMismatch
from fedcert.families.problem import Problem
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.tails import Cells, Limit, Product, Projections
from fedcert.families.projected.transported import certify_projected
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule, TrimmedMean

SURE = 1 - 1e-7


def transported(
    problem: Federated, properties: Properties, projections: Projections | None = None, budget: int = 256
) -> float:
    found = certify_projected(
        Problem(problem.network, properties, tuple(problem.laws), problem.rule), projections, budget
    )
    assert (found.claim.kind, found.claim.events, found.upper) == ("transported", "projected", None)
    assert found.claim.rule == problem.rule.name
    return found.lower.item()


def directly(problem: Federated, properties: Properties) -> Certificate:
    return certify_projected_directly(Problem(problem.network, properties, tuple(problem.laws), problem.rule))


@pytest.mark.slow
@pytest.mark.parametrize("mixtures", [0, 1])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.usefixtures("without_annotations")
def test_a_bound_is_below_what_attacks_and_direct_upper_bounds_allow(depth: int, mixtures: int) -> None:
    for seed in range(3):
        problem = make_federated(
            seed + 10 * depth, (2, *[5] * (depth - 1), 3), 0.02, 0.01, 3, 2, mixtures, linear=seed == 2
        )
        properties = problem.properties(problem.offsets((1.0, 2.5, 4.0)[seed]))
        found, direct = transported(problem, properties), directly(problem, properties)
        survive = int(problem.survivors(problem.deployed(1000), properties).sum())
        assert found <= clopper_pearson(survive, 1000, SURE)[1]
        assert direct.upper is not None
        assert found <= direct.upper.item()


@pytest.mark.slow
@pytest.mark.parametrize("clients", [2, 5, 20])
def test_cells_lose_little_against_the_deployed_law_however_many_clients(clients: int) -> None:
    problem = make_federated(1, (3, 8, 2), 0.005, 1e-3, clients)
    properties = problem.properties(problem.offsets(3.0))
    direct = directly(problem, properties).lower.item()
    assert direct > 0.9
    assert transported(problem, properties, Cells(512)) >= 0.9 * direct


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("clients", [2, 4])
def test_slabs_prove_less_than_cells_and_cells_less_than_their_limit(clients: int, depth: int) -> None:
    problem = make_federated(depth, (2, *[5] * (depth - 1), 2), 0.005, 1e-3, clients)
    properties = problem.properties(problem.offsets(3.0))
    slabs, cells, limit = (transported(problem, properties, way) for way in (Product(), Cells(512), Limit()))
    assert slabs <= cells <= limit
    assert limit > 0.5


@pytest.mark.slow
def test_ever_more_cells_climb_to_the_limit() -> None:
    problem = make_federated(4, (2, 5, 2), 0.005, 1e-3, 3)
    properties = problem.properties(problem.offsets(3.0))
    found = [transported(problem, properties, Cells(K)) for K in (8, 32, 128, 512, 2048)]
    limit = transported(problem, properties, Limit())
    assert all(coarse <= fine for coarse, fine in pairwise(found))
    assert found[-1] <= limit
    assert limit - found[-1] < 0.01
    assert transported(problem, properties) > limit  # boxes, where nothing is said


@pytest.mark.slow
def test_the_order_of_the_clients_does_not_matter() -> None:
    problem = make_federated(6, (2, 5, 2), 0.01, 1e-3, 3)
    properties = problem.properties(problem.offsets(2.5))
    backwards = LinearRule.average(problem.rule.weights.flip(0), problem.rule.name)
    found = certify_projected(
        Problem(problem.network, properties, tuple(problem.laws[::-1]), backwards)
    ).lower.item()
    assert found == pytest.approx(transported(problem, properties), abs=1e-9)
    assert found > 0.5


@pytest.mark.slow
def test_a_mixture_of_equal_components_is_one_of_them() -> None:
    problem = make_federated(7, (2, 5, 2), 0.01, 1e-3, 2)
    properties = problem.properties(problem.offsets(2.5))
    first = problem.laws[0].components[0]
    doubled = [GaussianMixture((first, first), vector(1.0, 2.0)), problem.laws[1]]
    found = certify_projected(Problem(problem.network, properties, tuple(doubled), problem.rule)).lower.item()
    alone = transported(problem, properties)
    assert found <= alone
    assert found == pytest.approx(alone, abs=1e-9)


@pytest.mark.slow
def test_tuples_beyond_the_budget_are_not_counted() -> None:
    problem = make_federated(8, (2, 5, 2), 0.01, 1e-3, 3, mixtures=2)
    properties = problem.properties(problem.offsets(3.5))
    all_four, three, one = (transported(problem, properties, budget=budget) for budget in (4, 3, 1))
    assert all_four > three > one > 0


def test_an_offset_and_weights_of_both_signs_are_part_of_the_rule() -> None:
    """The deployed bias is 0.7 + 2 b_1 − b_2, with b_1 = 0.5 and b_2 = 1 up to 0.01: positive."""
    law = [DiagonalGaussian(vector(0.0, b), vector(0.01, 0.01)) for b in (0.5, 1.0)]
    properties = Properties(Box.point(vector(0.0).unsqueeze(0)), vector(1.0)[None, None], vector(0.0)[None])
    for offset, least, most in [(0.7, 0.99, 1.0), (-0.7, 0.0, 0.0)]:
        rule = LinearRule(vector(2.0, -1.0).unsqueeze(-1), vector(0.0, offset))
        found = certify_projected(Problem(mlp(1, 1), properties, tuple(law), rule))
        assert least <= found.lower.item() <= most
        assert found.claim.rule == "linear"


def test_a_client_of_weight_zero_adds_no_noise() -> None:
    problem = make_federated(9, (2, 5, 2), 0.01, 1e-3, 2)
    properties = problem.properties(problem.offsets(3.0))
    wild = DiagonalGaussian(problem.laws[0].loc, torch.full_like(problem.laws[0].loc, 1e6))
    weights = torch.cat([problem.rule.weights, torch.zeros(1, 1).double()])
    found = certify_projected(
        Problem(problem.network, properties, (*problem.laws, wild), LinearRule(weights)), Limit()
    ).lower.item()
    assert found == pytest.approx(transported(problem, properties, Limit()), abs=1e-3)


@pytest.mark.slow
def test_many_properties_are_certified_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_federated(10, (2, 5, 2), 0.01, 1e-3, 2)
    one = problem.properties(problem.offsets(3.0))
    many = Properties(
        Box(one.regions.lower.repeat(5, 1), one.regions.upper.repeat(5, 1)),
        one.C.repeat(5, 1, 1),
        one.d.repeat(5, 1) + 0.01 * torch.arange(5).double().unsqueeze(-1),
    )

    def certified() -> list[float]:
        return certify_projected(
            Problem(problem.network, many, tuple(problem.laws), problem.rule)
        ).lower.tolist()

    together = certified()
    monkeypatch.setattr("fedcert.families.projected.transported.PROPERTIES", 2)
    assert certified() == pytest.approx(together, abs=1e-12)
    assert together == sorted(together)


def test_inputs_beyond_what_squares_can_hold_are_not_certified() -> None:
    law = DiagonalGaussian(vector(0.0, 1.0), vector(1.0, 1.0))
    properties = Properties(Box.point(vector(1e160)[None]), vector(1.0)[None, None], vector(1.0)[None])
    for certify in (certify_projected, certify_projected_directly):
        found = certify(Problem(mlp(1, 1), properties, (law, law), LinearRule.fedavg([1, 1])))
        assert found.lower.item() == 0.0


def test_a_median_has_no_projections() -> None:
    problem = make_federated(1, (2, 3, 2), 0.01, clients=3)
    properties = problem.properties(problem.offsets(3.0))
    with pytest.raises(ShapeMismatch, match="not linear"):
        certify_projected(Problem(problem.network, properties, tuple(problem.laws), TrimmedMean.median(3)))
