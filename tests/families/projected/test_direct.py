"""Direct projected certificates: two-sided bounds, against exact laws and against attacks."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
import torch
from balls import precision
from federated_problems import Federated, joined, make_federated
from flint import arb
from oracles import normal_cdf
from problems import vector

from fedcert.certificate import Certificate
from fedcert.errors import InvalidConfig
from fedcert.families.problem import Problem
from fedcert.families.projected.direct import (
    certify_projected_directly,
    certify_projected_locally,
)
from fedcert.families.projected.transported import certify_projected
from fedcert.laws import DiagonalGaussian, GaussianMixture
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.rules import LinearRule


@pytest.fixture(autouse=True)
def many_digits():
    with precision(300):
        yield


def directly(problem: Federated, properties: Properties, budget: int = 256) -> Certificate:
    return certify_projected_directly(
        Problem(problem.network, properties, tuple(problem.laws), problem.rule), budget
    )


def bounds(certificate: Certificate) -> tuple[float, float]:
    assert certificate.upper is not None
    return certificate.lower.item(), certificate.upper.item()


def exact_half_space(problem: Federated, d: float, components: list[DiagonalGaussian]) -> arb:
    """Pr(C f(x) + d ≥ 0) at the centre, for one layer, one constraint and Gaussian clients."""
    x, c = problem.centre[0].tolist(), problem.C[0, 0].tolist()
    mean, variance = arb(d), arb(0)
    for weights, law in zip(problem.rule.weights, components, strict=True):
        w = arb(weights.item())
        (loc,), (scale,) = problem.network.unflatten(law.loc), problem.network.unflatten(law.scale)
        for j, k in product(range(len(c)), range(len(x) + 1)):
            mu, sigma = (part[0][j, k] if k < len(x) else part[1][j] for part in (loc, scale))
            factor = arb(c[j]) * w * (arb(x[k]) if k < len(x) else arb(1))
            mean += factor * mu.item()
            variance += (factor * sigma.item()) ** 2
    return normal_cdf(mean / variance.sqrt())


def exact_mixture(problem: Federated, d: float) -> arb:
    """The same for mixtures: the sum over all tuples of components."""
    shares = [
        [w / sum(map(Fraction, own)) for w in map(Fraction, own)]
        for law in problem.laws
        for own in [law.weights.tolist() if isinstance(law, GaussianMixture) else [1.0]]
    ]
    total = arb(0)
    for chosen in product(*(range(len(law.components)) for law in problem.laws)):
        weight = math.prod((own[k] for own, k in zip(shares, chosen, strict=True)), start=Fraction(1))
        components = [law.components[k] for law, k in zip(problem.laws, chosen, strict=True)]
        total += arb(weight.numerator) / weight.denominator * exact_half_space(problem, d, components)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("mixtures", [0, 1, 2])
@pytest.mark.parametrize("sigmas", [-1.0, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("without_annotations")
def test_one_layer_and_one_constraint_have_the_probability_of_half_spaces(seed, sigmas, mixtures) -> None:
    problem = make_federated(seed, (3, 2), 0.2, clients=2, mixtures=mixtures)
    d = problem.offsets(sigmas)
    truth = exact_mixture(problem, d.item())
    lower, upper = bounds(directly(problem, problem.properties(d)))
    assert arb(lower) <= truth
    assert truth <= arb(upper)
    likely = sigmas > 0 if mixtures == 0 else sigmas > 1  # so that every tuple is more likely safe than not
    assert not likely or lower == pytest.approx(float(truth), abs=1e-6)
    assert likely or mixtures or upper == pytest.approx(float(truth), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_at_a_tiny_scale_a_certificate_is_a_verification_of_the_mean_network(depth: int) -> None:
    problem = make_federated(depth, (3, *[6] * (depth - 1), 2), 1e-12, 1e-9, constraints=2)
    value = problem.attacked(problem.deployed(1))
    safe, unsafe = (bounds(directly(problem, problem.properties(m - value))) for m in (0.1, -0.1))
    assert safe[0] > 1 - 1e-6
    assert unsafe[1] < 1e-6


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
def test_tuples_beyond_the_budget_count_as_unsafe_below_and_as_safe_above() -> None:
    problem = make_federated(1, (2, 3, 2), 0.05, clients=3, mixtures=3)
    properties = problem.properties(problem.offsets(0.0))
    found = [bounds(directly(problem, properties, budget)) for budget in (8, 5, 1)]
    (lower, upper), (fewer_lower, fewer_upper), (one_lower, one_upper) = found
    assert lower > fewer_lower > one_lower >= 0
    assert upper < fewer_upper < one_upper <= 1
    assert bounds(directly(problem, properties, 1000)) == (lower, upper)


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_of_nothing_is_refused(budget: int) -> None:
    problem = make_federated(1, (2, 2), 0.05)
    properties = problem.properties(problem.offsets(1.0))
    with pytest.raises(InvalidConfig, match="at least one"):
        directly(problem, properties, budget)
    with pytest.raises(InvalidConfig, match="at least one"):
        certify_projected(
            Problem(problem.network, properties, tuple(problem.laws), problem.rule), budget=budget
        )


@pytest.mark.slow
def test_fedavg_and_product_of_gaussians_agree_at_equal_scales() -> None:
    problem = make_federated(5, (3, 6, 2), 0.02, 0.001, clients=3)
    laws = [law.components[0].with_scale(0.03) for law in problem.laws]
    properties = problem.properties(problem.offsets(2.0))
    fedavg, pog = (
        certify_projected_directly(Problem(problem.network, properties, tuple(laws), rule))
        for rule in (LinearRule.fedavg([1, 1, 1]), LinearRule.product_of_gaussians(laws))
    )
    assert bounds(fedavg) == pytest.approx(bounds(pog), abs=1e-9)
    assert (fedavg.claim.rule, pog.claim.rule) == ("fedavg", "pog")
    assert (fedavg.claim.kind, fedavg.claim.events) == ("direct", "projected")


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(("d", "holds"), [(1.0, True), (0.0, True), (-1e-300, False), (-1.0, False)])
@pytest.mark.usefixtures("without_annotations")
def test_constraints_of_zeros_are_decided_by_their_offsets(d: float, holds: bool, depth: int) -> None:
    problem = make_federated(depth, (2, *[4] * (depth - 1), 2), 1e-4, constraints=2)
    value = problem.attacked(problem.deployed(1))
    C = problem.C.clone()
    C[:, 1] = 0.0
    some = replace(problem, C=C)
    offsets = torch.cat([10 - value[:, :1], vector(d).unsqueeze(0)], dim=-1)
    lower, upper = bounds(directly(some, some.properties(offsets)))
    transported = certify_projected(
        Problem(some.network, some.properties(offsets), tuple(some.laws), some.rule)
    ).lower.item()
    if holds:
        assert lower > 0.99
        assert transported > 0.98
        assert upper == 1.0
    else:
        assert (lower, transported) == (0.0, 0.0)
        assert upper < 1e-3


@pytest.mark.slow
def test_properties_are_certified_one_by_one() -> None:
    problem = make_federated(9, (2, 5, 2), 0.05, 0.01)
    one = problem.properties(problem.offsets(2.0))
    other = Properties(Box.around(one.regions.lower + 0.3, 0.02), -one.C, 0.5 - one.d)
    together = directly(problem, joined([one, other]))
    for p, alone in enumerate((one, other)):
        assert bounds(directly(problem, alone)) == pytest.approx(
            (together.lower[p].item(), together.upper[p].item()), rel=1e-6, abs=1e-9
        )


@pytest.mark.slow
def test_a_local_certificate_is_the_mean_of_the_clients_own() -> None:
    problem = make_federated(2, (2, 5, 2), 0.02, clients=3, mixtures=1)
    properties = problem.properties(problem.offsets(2.0))
    found = certify_projected_locally(Problem(problem.network, properties, tuple(problem.laws), problem.rule))
    alone = LinearRule.fedavg([1])
    own = [
        certify_projected_directly(Problem(problem.network, properties, (law,), alone)).lower.item()
        for law in problem.laws
    ]
    mean = sum(own) / 3
    assert mean - 0.05 < found.lower.item() <= mean  # the direct ones are searched for
    assert (found.claim.kind, found.claim.rule, found.upper) == ("local", "fedavg", None)


@pytest.mark.slow
@pytest.mark.parametrize("biases", [(1.0, 1.0), (1.0, -5.0), (-5.0, 1.0), (-5.0, -5.0)])
def test_layers_whose_neurons_are_all_inactive_cost_nothing(biases: tuple[float, float]) -> None:
    network = mlp(1, 2, 2, 1)
    loc = torch.full((network.parameters,), 0.5).double()
    for (_, bias), value in zip(network.unflatten(loc)[::2], (*biases, 1.0), strict=True):
        bias.fill_(value)
    laws = [DiagonalGaussian(loc, torch.full_like(loc, 0.01))] * 2
    properties = Properties(Box.point(vector(1.0).unsqueeze(0)), vector(1.0)[None, None], vector(0.0)[None])
    rule = LinearRule.fedavg([1, 1])
    assert certify_projected(Problem(network, properties, tuple(laws), rule)).lower.item() > 0.99
    assert certify_projected_directly(Problem(network, properties, tuple(laws), rule)).lower.item() > 0.99


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-160, 1e-100, 1.0, 1e100, 1e200])
def test_a_half_space_claims_no_more_than_its_probability_in_any_unit(size: float) -> None:
    """c f(0) ≥ 0 with f(0) ~ N(−1, 0.1²), and −c f(0) ≥ 0: squares of c under- and overflow."""
    law, network = DiagonalGaussian(vector(0.0, -1.0), vector(0.1, 0.1)), mlp(1, 1)
    C = vector(size, -size).view(2, 1, 1)
    properties = Properties(Box.point(torch.zeros(2, 1).double()), C, torch.zeros(2, 1).double())
    local = certify_projected_locally(
        Problem(network, properties, (law,), LinearRule.fedavg([1]))
    ).lower.tolist()
    direct = certify_projected_directly(Problem(network, properties, (law,), LinearRule.fedavg([1])))
    unsafe, safe = normal_cdf(arb(-10)), normal_cdf(arb(10))
    for lower in (local, direct.lower.tolist()):
        assert lower[0] <= unsafe
        assert lower[1] <= safe
        assert lower[1] > 0.999999 or not 1e-150 < size < 1e150
    assert direct.upper is not None
    assert unsafe <= direct.upper[0].item()
    assert direct.upper[0].item() < 1e-6 or not 1e-150 < size < 1e150


def test_rows_of_tiny_coefficients_do_not_make_an_upper_bound_too_small() -> None:
    """f(0) ~ N(0.13, 0.1²) is positive with probability 0.90, in a row of ones and in one of 1e-160."""
    law, network = DiagonalGaussian(vector(0.0, 0.13), vector(0.1, 0.1)), mlp(1, 1)
    C = vector(1.0, 1e-160).view(1, 2, 1)
    properties = Properties(Box.point(torch.zeros(1, 1).double()), C, torch.zeros(1, 2).double())
    found = certify_projected_directly(Problem(network, properties, (law,), LinearRule.fedavg([1])))
    truth = normal_cdf(arb(0.13) / arb(0.1))
    assert found.upper is not None
    assert found.lower.item() <= truth <= found.upper.item()
