"""Bounds under laws whose parameters depend on each other: exact ones, and samples of the deployed model."""

import math

import pytest
import torch
from dependent_problems import STRUCTURES, Structure, make_dependent
from federated_problems import Federated
from flint import arb
from fuzz.neuron import Neuron
from problems import normal
from scipy.stats import norm

from fedcert.certificate import Certificate, clopper_pearson
from fedcert.errors import InvalidLaw
from fedcert.families.problem import Problem
from fedcert.families.projected.chain import Federation, chained_violation
from fedcert.families.projected.direct import certify_projected_directly
from fedcert.families.projected.family import ProjectedFamily
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.references import Conditional
from fedcert.families.registry import family_named
from fedcert.laws import BlockGaussian, DenseGaussian, DiagonalGaussian, GaussianLaw
from fedcert.laws.block_layers import Blocks
from fedcert.laws.dependent_affine import DependentNoise
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import LinearRule

SURE = 1 - 1e-7


def problem_of(made: Federated, properties: Properties) -> Problem:
    return Problem(made.network, properties, tuple(made.laws), made.rule)


def dense(law: GaussianLaw) -> DenseGaussian:
    """The same law by one factor of its covariance."""
    if isinstance(law, DenseGaussian):
        return law
    assert isinstance(law, BlockGaussian)
    return Blocks(law.loc, torch.zeros_like(law.loc), law.blocks, 0.0).dense()


@pytest.mark.parametrize("structure", ["joined", "kronecker"])
def test_one_layer_has_the_probability_of_a_half_space(structure: Structure) -> None:
    made = make_dependent(0, (3, 2), 0.3, structure, clients=3)
    d = made.offsets(1.2)
    found = certify_projected_directly(problem_of(made, made.properties(d)))
    deployed = dense(made.rule.pushforward(made.laws))
    rows = made.C[0, 0]
    c = torch.cat([(rows[:, None] * made.centre[0]).flatten(), rows])
    mean, deviation = c @ deployed.loc + d[0, 0], (deployed.factor.mT @ c).norm()
    exact = norm.cdf((mean / deviation).item())
    assert found.lower.item() == pytest.approx(exact, abs=1e-7)
    assert found.lower.item() <= exact


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["kronecker", "mixed"])
@pytest.mark.parametrize("sigmas", [2.0, 4.0])
def test_no_bound_is_above_the_probability_of_one_rectified_neuron(
    structure: Structure, sigmas: float
) -> None:
    """Given the neuron, the rest is Gaussian: the probability is an integral over one number."""
    made = make_dependent(5, (2, 1, 2), 0.05, structure, clients=2)
    law, network = dense(made.rule.pushforward(made.laws)), made.network
    first, _, last = network.unflatten(law.loc)
    rows, x = made.C[0, 0], torch.cat([made.centre[0], torch.ones(1).double()])
    factors = law.factor.split([3, 4])
    behind, shift = (factors[1][part].mT @ rows for part in (slice(0, 2), slice(2, 4)))
    assert behind @ shift == 0  # weights and biases are independent
    neuron = Neuron(*(arb(float(value)) for value in (
        rows @ last[1], rows @ last[0][:, 0], behind.norm(), shift.norm(),
        first[0][0] @ made.centre[0] + first[1][0], (factors[0].mT @ x).norm(),
    )))  # fmt: skip
    mean, deviation = neuron.rough()
    d = sigmas * deviation - mean
    exact = 1 - neuron.shifted(d).tail()
    for kind in ("direct", "transported"):
        offset = torch.tensor([[d]], dtype=torch.float64)
        found = ProjectedFamily().prove(problem_of(made, made.properties(offset)), kind)
        assert found.lower.item() > 0.3
        assert arb(found.lower.item()) <= exact.upper()


@pytest.mark.slow
@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.usefixtures("without_annotations")
def test_attacks_succeed_no_more_often_than_the_bounds_say(structure: Structure, depth: int) -> None:
    """Offsets are quantiles of attacked margins, so that the true probability is near what is drawn."""
    said = []
    for seed in range(6):
        scale, radius = ((0.003, 1e-3), (0.02, 0.0), (0.1, 0.02))[seed % 3]
        made = make_dependent(
            seed + 100 * depth,
            (2, *[4] * (depth - 1), 2),
            scale,
            structure,
            radius,
            clients=1 + seed % 3,
            constraints=1 + seed % 2,
            linear=seed == 5,
        )
        first, fresh = (made.attacked(made.deployed(1000)) for _ in range(2))
        d = -first.quantile((0.02, 0.1, 0.4)[seed % 3], dim=0).unsqueeze(0)
        safe = (fresh + d >= 0).all(-1)
        _, most = clopper_pearson(int(safe.sum()), len(fresh), SURE)
        for kind in ("direct", "transported"):
            found = ProjectedFamily().prove(problem_of(made, made.properties(d)), kind)
            assert found.lower.item() <= most
            said.append(found.lower.item())
    assert max(said) > 0.3  # else the test says nothing


@pytest.mark.parametrize("structure", STRUCTURES)
def test_networks_that_are_broken_at_the_mean_have_an_upper_bound(structure: Structure) -> None:
    made = make_dependent(1, (2, 3, 2), 0.05, structure, constraints=2)
    found = certify_projected_directly(problem_of(made, made.properties(made.offsets(-2.5))))
    drawn = (made.attacked(made.deployed(4000)) + made.offsets(-2.5)[0] >= 0).all(-1)
    least, _ = clopper_pearson(int(drawn.sum()), len(drawn), SURE)
    assert found.upper is not None
    assert least <= found.upper.item() < 0.5


def certified(law: DenseGaussian | DiagonalGaussian, properties: Properties) -> Certificate:
    rule = LinearRule.fedavg([1])
    return ProjectedFamily().prove(Problem(mlp(2, 3, 2), properties, (law,), rule), "local")


def test_a_diagonal_factor_says_about_what_the_diagonal_law_says() -> None:
    made = make_dependent(2, (2, 3, 2), 0.02, "joined")
    properties = made.properties(made.offsets(4.0))
    loc, scale = made.laws[0].loc, torch.full((17,), 0.02, dtype=torch.float64)
    diagonal, dense = DiagonalGaussian(loc, scale), DenseGaussian(loc, torch.diag(scale))
    assert certified(dense, properties).lower <= certified(diagonal, properties).lower + 1e-3
    assert certified(dense, properties).lower > 0.9


def test_fixed_parameters_alone_give_zero_or_one() -> None:
    made = make_dependent(3, (2, 3, 2), 0.02, "joined")
    law = DenseGaussian(made.laws[0].loc, torch.zeros(17, 0, dtype=torch.float64))
    margin = (made.network(law.loc, made.centre) @ made.C[0].mT).amin(-1, keepdim=True)
    for room, expected in ((0.01, 1.0), (-0.01, 0.0)):
        properties = Properties(Box.point(made.centre), made.C, room - margin)
        assert certified(law, properties).lower.item() == pytest.approx(expected, abs=1e-12)


def test_a_bound_that_ignores_the_dependence_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """All weights of the last layer are one normal; its noise over the region is that of their sum."""
    network = mlp(4, 1)
    law = DenseGaussian(torch.zeros(5).double(), torch.tensor([[1.0]] * 4 + [[0.0]]).double())
    x, radius = torch.zeros(1, 4).double(), 1.0
    d = torch.full((1, 1), 8.0).double()  # |4 z| ≤ 8, that is |z| ≤ 2: 0.9545
    properties = Properties(Box.around(x, radius), torch.ones(1, 1, 1).double(), d)
    truth = norm.cdf(2) - norm.cdf(-2)
    problem = Problem(network, properties, (law,), LinearRule.fedavg([1]))
    assert certify_projected_directly(problem).lower.item() <= truth

    def independent(noise: DependentNoise, delta: torch.Tensor) -> torch.Tensor:
        return (noise.weight * delta.unsqueeze(-2)).norm(dim=-1)

    monkeypatch.setattr(DependentNoise, "steepest", independent)
    monkeypatch.setattr("fedcert.laws.dependent_affine.MEAN_OF_A_NORMAL", 0.0)
    for failure in (
        0.5,
        0.1,
        0.04,
    ):  # |z| ≤ 1.18, 2.15, 2.54 would be charged as if widths were half of these
        kappa, ones = torch.full((1,), 5.0).double(), torch.ones(1).double()
        layers = random_layers(network, law)
        found = chained_violation(Federation(layers, [layers]), properties, kappa, failure * ones)
        if 1 - found.probability.item() > truth:
            return
    pytest.fail("the charge for dependence could be taken away")


def test_no_noise_is_conditional_where_layers_depend_on_each_other() -> None:
    made = make_dependent(4, (2, 3, 2), 0.02, "joined")
    layers = random_layers(made.network, made.laws[0])
    ones = torch.ones(1).double()
    with pytest.raises(InvalidLaw, match="conditional"):
        chained_violation(
            Federation(layers, [layers]),
            made.properties(made.offsets(3.0)),
            4 * ones,
            1e-8 * ones,
            Conditional(),
        )


@pytest.mark.parametrize("name", ["box", "paper-box"])
def test_families_of_boxes_have_no_claim(name: str) -> None:
    made = make_dependent(5, (2, 2), 0.02, "joined")
    problem = problem_of(made, made.properties(made.offsets(3.0)))
    assert not any(family_named(name).supports(problem, kind) for kind in ("local", "direct", "transported"))


def test_weights_for_each_parameter_are_refused_by_the_rule_s_name() -> None:
    made = make_dependent(6, (2, 2), 0.02, "joined")
    rule = LinearRule(0.5 + normal(stream(0, "weights"), 2, 6).abs(), None, "mine")
    problem = Problem(made.network, made.properties(made.offsets(3.0)), tuple(made.laws), rule)
    with pytest.raises(InvalidLaw, match="the rule mine has a weight for each parameter"):
        certify_projected_directly(problem)


def test_clients_with_independent_parameters_can_join() -> None:
    made = make_dependent(7, (2, 3, 2), 0.02, "joined")
    other = DiagonalGaussian(made.laws[1].loc, torch.full((17,), 0.02).double())
    properties = made.properties(made.offsets(4.0))
    mixed = Problem(made.network, properties, (made.laws[0], other), made.rule)
    stated = Problem(made.network, properties, (made.laws[0], DenseGaussian.of(other)), made.rule)
    for kind in ("direct", "transported"):
        one, two = (ProjectedFamily().prove(own, kind).lower for own in (mixed, stated))
        assert torch.allclose(one, two, atol=1e-9)
        assert one.item() > 0.5
    assert math.isfinite(one.item())
