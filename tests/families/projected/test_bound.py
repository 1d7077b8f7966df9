import itertools
import math
from dataclasses import dataclass, fields, replace

import pytest
import torch
from balls import precision
from flint import arb
from oracles import normal_cdf
from problems import normal, uniform, vector
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.projected.bound import Split, Violation, violation
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.spread import concentration, concentration_width
from fedcert.laws import DiagonalGaussian
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream

SPLITS = [(3e-5, 1e-7, 1e-7), (1e-6, 1e-9, 1e-9), (1e-3, 1e-4, 1e-4), (1e-2, 1e-2, 1e-2), (1e-9, 1e-4, 1e-12)]


def make_split(
    count: int, hidden: int, ranges: float, movement: float, deviation: float, reach: float = 0.0
) -> Split:
    def full(columns: int, value: float) -> Tensor:
        return torch.full((count, columns), value, dtype=torch.float64)

    inner, layers = max(1, hidden), hidden + 1
    failures = full(inner, ranges), full(layers, movement), full(layers, deviation)
    return Split(*failures, full(inner, 1.0), full(1, reach))


def default_split(layers: list[DiagonalAffine], properties: Properties) -> Split:
    return make_split(len(properties), len(layers) - 1, *SPLITS[0])


@dataclass(frozen=True)
class Problem:
    network: Network
    law: DiagonalGaussian
    layers: list[DiagonalAffine]
    centre: Tensor
    C: Tensor
    generator: torch.Generator

    def properties(self, radius: float, d: Tensor) -> Properties:
        return Properties(Box.around(self.centre, radius), self.C, d)

    def margins(self, radius: float, count: int) -> Tensor:
        """The least of C f(x) over the centre and the corners of the box, for sampled networks."""
        noise = normal(self.generator, count, self.network.parameters)
        theta = self.law.loc + self.law.scale * noise
        signs = torch.tensor(
            list(itertools.product([-1.0, 1.0], repeat=self.centre.shape[-1])), dtype=torch.float64
        )
        points = torch.cat([self.centre, self.centre + radius * signs])
        return (self.network(theta, points) @ self.C[0].mT).amin(1)


def make_problem(seed: int, widths: tuple[int, ...], scale: float, constraints: int = 1) -> Problem:
    """One region; many inputs of a layer make its outputs no larger."""
    generator = stream(seed, "bound")
    network = mlp(*widths)
    loc = network.initialise(generator).double() * 2
    law = DiagonalGaussian(loc, scale * (0.2 + uniform(generator, len(loc))))
    centre, C = normal(generator, 1, widths[0]), normal(generator, 1, constraints, widths[-1])
    return Problem(network, law, random_layers(network, law), centre, C, generator)


def probability(problem: Problem, properties: Properties, split: Split | None = None) -> float:
    split = default_split(problem.layers, properties) if split is None else split
    return violation(problem.layers, properties, split).probability.item()


def exact_half_space(problem: Problem, d: float) -> float | arb:
    """Pr(C f(x) + d < 0) at the centre, of a network of one layer and one constraint."""
    layer, x, c = problem.layers[0], problem.centre[0].tolist(), problem.C[0, 0].tolist()
    mean, variance = arb(d), arb(0)
    for j, weight in enumerate(c):
        mean += arb(weight) * layer.bias[j].item()
        variance += (arb(weight) * layer.bias_scale[j].item()) ** 2
        for k, coordinate in enumerate(x):
            mean += arb(weight) * arb(layer.weight[j, k].item()) * coordinate
            variance += (arb(weight) * arb(layer.weight_scale[j, k].item()) * coordinate) ** 2
    return normal_cdf(-mean / variance.sqrt())


@pytest.fixture(autouse=True)
def many_digits():
    with precision(300):
        yield


@pytest.mark.parametrize("sigmas", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_one_linear_layer_and_one_constraint_have_the_probability_of_a_half_space(seed, sigmas) -> None:
    problem = make_problem(seed, (3, 2), 0.2)
    margins = sampled_at_centre(problem, 1_000)
    d = (sigmas * margins.std(0) - margins.mean(0)).unsqueeze(0)
    truth, found = exact_half_space(problem, d.item()), probability(problem, problem.properties(0.0, d))
    assert truth <= arb(found)
    assert found == pytest.approx(float(truth), abs=1e-6)


def test_more_constraints_cost_no_more_than_their_sum() -> None:
    problem = make_problem(1, (3, 2), 0.2, constraints=3)
    margins = sampled_at_centre(problem, 4_000)
    d = (1.5 * margins.std(0) - margins.mean(0)).unsqueeze(0)
    alone = [
        probability(single, single.properties(0.0, d[:, r : r + 1]))
        for r in range(3)
        for single in [replace(problem, C=problem.C[:, r : r + 1])]
    ]
    found = probability(problem, problem.properties(0.0, d))
    assert max(alone) <= found <= sum(alone) + 1e-9
    failures = int(((margins + d) < 0).any(-1).sum())
    assert clopper_pearson(failures, len(margins), 1 - 1e-7)[0] <= found


@pytest.mark.parametrize("sigmas", [0.7, 1.5, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_a_network_of_two_layers_is_as_safe_at_a_point_as_samples_are(seed: int, sigmas: float) -> None:
    """At radius zero nothing is lost but the failure of events: the bound lies within the interval."""
    problem = make_problem(seed, (3, 8, 2), 0.2)
    margins = sampled_at_centre(problem, 20_000)
    d = (sigmas * margins.std(0) - margins.mean(0)).unsqueeze(0)
    low, high = clopper_pearson(int(((margins + d[0]) < 0).sum()), len(margins), 1 - 1e-6)
    found = probability(problem, problem.properties(0.0, d))
    assert low <= found <= high + 1e-4


def sampled_at_centre(problem: Problem, count: int) -> Tensor:
    theta = problem.law.loc + problem.law.scale * normal(problem.generator, count, problem.network.parameters)
    return problem.network(theta, problem.centre)[:, 0] @ problem.C[0].mT


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_clearly_safe_network_is_certified_and_a_clearly_unsafe_one_is_not(depth: int) -> None:
    problem = make_problem(depth, (3, *[6] * (depth - 1), 2), 1e-12, constraints=2)
    value = (problem.network(problem.law.loc, problem.centre) @ problem.C[0].mT)[0]
    safe, unsafe = (problem.properties(1e-9, (m - value).unsqueeze(0)) for m in (0.1, -0.1))
    sparse = make_split(1, depth - 1, 1e-9, 1e-12, 1e-12)
    assert probability(problem, safe, sparse) < 1e-6
    assert probability(problem, unsafe, sparse) == 1.0


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(2))
def test_violations_grow_with_the_region(seed: int, depth: int) -> None:
    problem = make_problem(seed, (3, *[5] * (depth - 1), 2), 0.03)
    margins = sampled_at_centre(problem, 2_000)
    d = (4 * margins.std(0) - margins.mean(0)).unsqueeze(0)
    split = make_split(1, depth - 1, 1e-5, 1e-6, 1e-6)
    found = [probability(problem, problem.properties(r, d), split) for r in (0.0, 1e-3, 1e-2, 1.0)]
    assert all(small <= large for small, large in itertools.pairwise(found))
    assert found[0] < 0.5
    assert found[-1] == 1.0


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(10))
def test_attacks_succeed_no_more_often_than_the_bound_says(seed: int, depth: int) -> None:
    """Offsets are quantiles of attacked margins, so that the true probability is near what is drawn."""
    generator = stream(seed, "spec", depth)
    constraints = 1 + seed % 3
    scale = (0.01, 0.03, 0.1, 0.3)[int(4 * uniform(generator, 1))]
    radius = (0.0, 1e-3, 0.02)[int(3 * uniform(generator, 1))]
    problem = make_problem(seed + 100 * depth, (2, *[5] * (depth - 1), 2), scale, constraints)
    margins, fresh = problem.margins(radius, 800), problem.margins(radius, 800)
    d = -margins.quantile((0.01, 0.05, 0.3)[seed % 3], dim=0).unsqueeze(0)
    failures = int(((fresh + d) < 0).any(-1).sum())
    low, _ = clopper_pearson(failures, len(fresh), 1 - 1e-7)
    for numbers, reach in ((SPLITS[0], 0.0), (SPLITS[1 + seed % 4], 0.0), (SPLITS[0], 0.3 + seed % 3)):
        split = make_split(1, depth - 1, *numbers, reach)
        assert low <= probability(problem, problem.properties(radius, d), split)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_bounds_say_something_of_networks_that_are_mostly_safe(depth: int) -> None:
    """The test above is no proof of anything if all bounds are one."""
    found = []
    for seed in range(3):
        problem = make_problem(seed + 100 * depth, (2, *[5] * (depth - 1), 2), 0.02)
        d = -problem.margins(1e-3, 1_000).quantile(0.01, dim=0).unsqueeze(0)
        found.append(probability(problem, problem.properties(1e-3, d)))
    assert sorted(found)[1] < 0.3


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_wide_networks_violate_no_more_often_than_stated(depth: int) -> None:
    problem = make_problem(depth, (2, *[12] * (depth - 1), 3), 0.05, constraints=2)
    d = -problem.margins(0.005, 1_000).quantile(0.05, dim=0).unsqueeze(0)
    fresh = problem.margins(0.005, 1_000)
    failures = int(((fresh + d) < 0).any(-1).sum())
    low, _ = clopper_pearson(failures, len(fresh), 1 - 1e-7)
    assert low <= probability(problem, problem.properties(0.005, d))


def test_properties_are_bounded_one_by_one() -> None:
    problem = make_problem(4, (3, 5, 4, 2), 0.05, constraints=2)
    generator = stream(4, "properties")
    centres, C = normal(generator, 4, 3), normal(generator, 4, 2, 2)
    values = problem.network(problem.law.loc, centres)
    d = 1.0 - (C @ values.unsqueeze(-1)).squeeze(-1)
    properties = Properties(Box.around(centres, 0.01), C, d)
    split = default_split(problem.layers, properties)
    together = violation(problem.layers, properties, split).probability
    for p in range(4):
        one = slice(p, p + 1)
        part = Split(*(getattr(split, field.name)[one] for field in fields(split)))
        alone = violation(problem.layers, properties[one], part).probability
        assert alone.item() == pytest.approx(together[p].item(), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("depth", "name"),
    [(1, "movement"), (2, "movement"), *itertools.product([3, 4], ["ranges", "movement", "deviation"])],
)
def test_a_split_with_nan_claims_nothing(depth: int, name: str) -> None:
    problem = make_problem(depth, (3, *[4] * (depth - 1), 2), 1e-9)
    value = (problem.network(problem.law.loc, problem.centre) @ problem.C[0].mT)[0]
    properties = problem.properties(1e-6, (100 - value).unsqueeze(0))
    split = default_split(problem.layers, properties)
    assert probability(problem, properties, split) < 1e-2
    spoiled = replace(split, **{name: torch.full_like(getattr(split, name), math.nan)})
    assert probability(problem, properties, spoiled) == 1.0


@pytest.mark.parametrize(
    "name", ["weight", "bias", "weight_scale", "bias_scale", "weight_error", "bias_error"]
)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_law_with_nan_claims_nothing(depth: int, name: str) -> None:
    problem = make_problem(depth, (3, *[4] * (depth - 1), 2), 1e-9)
    value = (problem.network(problem.law.loc, problem.centre) @ problem.C[0].mT)[0]
    properties = problem.properties(1e-6, (100 - value).unsqueeze(0))
    for place, layer in enumerate(problem.layers):
        spoiled = [*problem.layers]
        spoiled[place] = replace(layer, **{name: torch.full_like(getattr(layer, name), math.nan)})
        assert probability(replace(problem, layers=spoiled), properties) == 1.0


def test_a_probability_is_the_sum_of_its_parts_and_at_most_one() -> None:
    found = Violation(vector(0.1, 0.2).unsqueeze(0), vector(0.3))
    assert 0.6 <= found.probability.item() == pytest.approx(0.6, rel=1e-12)
    assert Violation(vector(0.9, 0.9).unsqueeze(0), vector(0.3)).probability.item() == 1.0
    for tails, events in [(math.nan, 0.0), (0.0, math.nan), (math.inf, 0.0), (0.0, math.inf)]:
        assert Violation(vector(tails, 0.0).unsqueeze(0), vector(events)).probability.item() == 1.0


def test_an_error_of_the_law_makes_violations_more_probable() -> None:
    problem = make_problem(6, (3, 6, 2), 0.05)
    margins = sampled_at_centre(problem, 2_000)
    d = (3 * margins.std(0) - margins.mean(0)).unsqueeze(0)
    found = []
    for error in (0.0, 1e-6, 1e-4):
        law = DiagonalGaussian(problem.law.loc, problem.law.scale, error * problem.law.scale, error)
        inexact = replace(problem, layers=random_layers(problem.network, law))
        found.append(probability(inexact, problem.properties(0.0, d)))
    assert found[0] < found[1] < found[2] < 1.0


def test_a_constraint_of_zeros_is_decided_by_its_offset() -> None:
    problem = make_problem(7, (3, 6, 2), 0.05)
    nothing = replace(problem, C=torch.zeros_like(problem.C))
    assert probability(nothing, nothing.properties(0.01, vector(1.0).unsqueeze(0))) < 0.01
    assert probability(nothing, nothing.properties(0.01, vector(-1.0).unsqueeze(0))) == 1.0


def test_every_event_is_paid() -> None:
    """The prices of docs/soundness.md, 9.9, where no neuron keeps its sign: nothing is paid but these."""
    ranges, movement, deviation = 1e-7, 1e-9, 1e-11
    problem = make_problem(5, (2, 3, 4, 5, 2), 3.0, constraints=3)
    split = make_split(1, 3, ranges, movement, deviation)
    found = violation(problem.layers, problem.properties(0.1, torch.zeros(1, 3).double()), split)
    moving, deviating = (
        concentration(concentration_width(vector(f))).upper.item() for f in (movement, deviation)
    )
    due = 3 * moving
    for layer, neurons in ((2, 4), (3, 5)):
        due += neurons * (4 * (3 * layer - 2) * moving + max(2, 2 * (layer - 2) + 1) * deviating)
        due += neurons * (2 * ranges + deviation)
    due += 3 * (10 * moving + 2 * deviating)
    due += 3 * (deviation + (deviation + deviating))  # that layers 3 and 4 are random enough
    softer = violation(
        problem.layers,
        problem.properties(0.1, torch.zeros(1, 3).double()),
        replace(split, reach=split.reach + 1),
    )
    assert softer.events.item() == found.events.item()
    assert found.events.item() == pytest.approx(due, rel=1e-9)
    assert found.events.item() >= due * (1 - 1e-12)
