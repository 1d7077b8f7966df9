"""Random last layers behind fixed ones: features carried to the inputs, and what their noise may lose."""

import math

import pytest
import torch
from convolved_problems import HEADS, make_convolved
from convolved_problems import Head as HeadKind
from dependent_problems import Structure, make_dependent
from problems import normal, uniform
from torch import Tensor

from fedcert.certificate import clopper_pearson
from fedcert.families.projected import carried
from fedcert.families.projected.carried import Head, half_gaps, in_the_middle, to_inputs
from fedcert.families.projected.chain import (
    Federation,
    _Chain,
    carried_analysis,
    carries,
    chained_violation,
)
from fedcert.families.projected.choices import CARRIED, least_chained_violation
from fedcert.families.projected.layers import random_layers, rectified
from fedcert.families.projected.references import Static
from fedcert.families.projected.tails import Limit
from fedcert.laws import DenseGaussian
from fedcert.laws.block_layers import Blocks
from fedcert.model.layers import Linear, ReLU
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient

SURE, DRAWS = 1 - 1e-7, 400


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def federation_of(network: Network, law: DenseGaussian) -> Federation:
    layers = random_layers(network, law)
    return Federation(layers, [layers], rectified(network))


def head_of(network: Network, law: DenseGaussian, properties: Properties) -> Head:
    ones = torch.ones_like(properties.d[:, 0])
    chain = _Chain(federation_of(network, law), properties, ones / 2, Static(), Limit())
    for depth in range(len(chain.layers) - 1):
        chain.add_layer(depth, ones)
    return Head(chain.view, properties)


def one_normal(*factor: float, hidden: tuple[float, ...] = (1.0, 0.0)) -> tuple[Network, DenseGaussian]:
    """One feature for each weight and bias of a fixed layer; one normal behind the last layer."""
    features = len(hidden) // 2
    network = Network((Linear(1, features), ReLU(), Linear(features, 1)))
    loc = torch.cat([vector(*hidden), vector(*(0.0,) * (features + 1))])
    fixed = torch.zeros(len(hidden), 1).double()
    return network, DenseGaussian(loc, torch.cat([fixed, vector(*factor).unsqueeze(-1)]))


def asked(lower: float, upper: float, d: float) -> Properties:
    box = Box(vector(lower).unsqueeze(0), vector(upper).unsqueeze(0))
    return Properties(box, torch.ones(1, 1, 1).double(), vector(d).unsqueeze(0))


def violated(network: Network, law: DenseGaussian, properties: Properties) -> float:
    return carried_analysis(federation_of(network, law), properties)[0].probability.item()


def tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))


@pytest.mark.parametrize("d", [0.5, 2.0])
def test_a_single_input_has_the_tail_of_a_half_space(d: float) -> None:
    network, law = one_normal(0.5, 0.25)
    assert violated(network, law, asked(1.0, 1.0, d)) == pytest.approx(tail(d / 0.75), abs=1e-12)


def test_the_largest_deviation_of_the_region_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """z h for h from 0.5 to 1.5 is below −3 with probability Q(2)."""
    network, law = one_normal(1.0, 0.0)
    properties, exact = asked(0.5, 1.5, 3.0), tail(2.0)
    assert violated(network, law, properties) >= exact
    centre = lambda self: self.noise.at(self.features[0])  # noqa: E731
    monkeypatch.setattr(Head, "largest_deviation", centre)
    assert violated(network, law, properties) < exact


def test_the_mean_of_what_noise_takes_away_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """z (h − 1) for h from 0 to 2 is below −2 with probability 2 Q(2)."""
    network, law = one_normal(1.0, -1.0)
    properties, exact = asked(0.0, 2.0, 2.0), 2 * tail(2.0)
    assert violated(network, law, properties) >= exact
    for name in ("taken_apart", "taken_at_the_inputs"):
        monkeypatch.setattr(Head, name, lambda self: torch.zeros_like(self.properties.d))
    assert violated(network, law, properties) < exact


def test_the_gaps_between_parallel_lines_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """E sup_x −z (|x| − ½) over |x| ≤ 1 is E|z|/2, though the lines around relu(x) and relu(−x) cancel."""
    network, law = one_normal(1.0, 1.0, -0.5, hidden=(1.0, -1.0, 0.0, 0.0))
    exact = math.sqrt(2 / math.pi) / 2
    assert head_of(network, law, asked(-1.0, 1.0, 5.0)).taken_at_the_inputs().item() >= exact
    monkeypatch.setattr(carried, "half_gaps", lambda lines: torch.zeros_like(lines.height))
    assert head_of(network, law, asked(-1.0, 1.0, 5.0)).taken_at_the_inputs().item() < exact


@pytest.mark.parametrize("widths", [(2, 4, 1), (3, 5, 4, 2), (2, 3, 3, 3, 1)])
def test_features_lie_between_their_parallel_lines(widths: tuple[int, ...]) -> None:
    made = make_dependent(0, widths, 0.1, "last", radius=0.3)
    properties = made.properties(made.offsets(2.0))
    law = made.rule.pushforward(made.laws)
    head = head_of(made.network, law, properties)
    count, features = len(properties), widths[-2]
    every = torch.eye(features).double().expand(count, -1, -1)
    own = to_inputs(head.view, every, torch.zeros_like(every), in_the_middle)
    reach = half_gaps(head.view.known[-1].lines) + own.error
    for ranges, directions in zip(reversed(head.view.known[:-1]), own.passed[1:], strict=True):
        reach = reach + (directions.abs() * half_gaps(ranges.lines).unsqueeze(-2)).sum(-1)
    low, high = properties.regions.lower, properties.regions.upper
    before = Network(made.network.layers[:-1])
    for _ in range(200):
        x = low + (high - low) * uniform(made.generator, *low.shape)
        h = before(law.loc[: before.parameters], x)
        linear = own.constant + (own.slopes * (x - head.view.centre).unsqueeze(-2)).sum(-1)
        assert ((h - linear).abs() <= reach).all()


@pytest.mark.parametrize("structure", ["last", "head"])
def test_no_sample_loses_more_than_the_mean_says(structure: Structure) -> None:
    """The mean over draws of sup_x −(A + N)·h(x) is bounded, feature by feature and at the inputs."""
    made = make_dependent(3, (2, 6, 4, 2), 0.3, structure, radius=0.2, constraints=2)
    properties = made.properties(made.offsets(2.0))
    law = made.rule.pushforward(made.laws)
    head = head_of(made.network, law, properties)
    own = head.mean.constant + head.view.layers[-1].offset(properties.C)[0] + properties.d
    theta = law.sample(2000, stream(1, "draws"))
    low, high = properties.regions.lower, properties.regions.upper
    worst = torch.full((len(theta), *properties.d.shape), torch.inf).double()
    for _ in range(60):
        x = low + (high - low) * uniform(made.generator, *low.shape).round()
        margins = torch.einsum("prk,spk->spr", properties.C, made.network(theta, x)) + properties.d
        worst = torch.minimum(worst, margins)
    error = 5 * worst.std(0) / len(theta) ** 0.5
    for lost in (head.taken_apart(), head.taken_at_the_inputs()):
        assert (own - lost <= worst.mean(0) + error).all()


@pytest.mark.parametrize("structure", ["last", "head"])
def test_no_deviation_of_the_region_is_larger(structure: Structure) -> None:
    made = make_dependent(5, (2, 5, 4, 2), 0.3, structure, radius=0.4, constraints=2)
    properties = made.properties(made.offsets(2.0))
    law = made.rule.pushforward(made.laws)
    head = head_of(made.network, law, properties)
    largest, before = head.largest_deviation(), Network(made.network.layers[:-1])
    low, high = properties.regions.lower, properties.regions.upper
    closest = torch.zeros_like(largest)
    for _ in range(300):
        x = low + (high - low) * uniform(made.generator, *low.shape).round()
        closest = torch.maximum(closest, head.noise.at(before(law.loc[: before.parameters], x)))
    assert (closest <= largest * (1 + 1e-12)).all()
    centre, reach = head.features
    assert (largest <= head.noise.at(centre) + head.noise.steepest(reach) + 1e-12).all()


@pytest.mark.parametrize("widths", [(3, 3), (3, 6, 5, 3)])
@pytest.mark.parametrize("structure", ["last", "head"])
@pytest.mark.parametrize("radius", [0.0, 0.01, 0.1])
def test_no_other_reference_has_a_smaller_bound(
    widths: tuple[int, ...], structure: Structure, radius: float
) -> None:
    made = make_dependent(7, widths, 0.1, structure, radius=radius, constraints=2)
    properties = made.properties(made.offsets(2.0))
    layers = random_layers(made.network, made.rule.pushforward(made.laws))
    own = Federation(layers, [layers])
    found, choices = least_chained_violation(own, properties)
    assert carries(own, properties)
    assert (choices["method"] == CARRIED).all()
    ones = torch.ones_like(found)
    for failure in (1e-8, 1e-5, 1e-4):
        other = chained_violation(own, properties, 4.3 * ones, failure * ones, Static())
        assert (found <= other.probability + 1e-9).all()


@pytest.mark.parametrize("head", HEADS)
def test_attacks_succeed_no_more_often_than_the_bound_says(head: HeadKind) -> None:
    problem = make_convolved("convolved", 1, 0.1, 0.05, 2.0, head=head)
    law = problem.rule.pushforward(problem.laws)
    layers = random_layers(problem.network, law)
    own = Federation(layers, [layers], rectified(problem.network))
    assert carries(own, problem.properties)
    bound = carried_analysis(own, problem.properties)[0].probability.item()
    thetas = law.sample(DRAWS, stream(0, "draws"))
    survived = int(ProjectedGradient(steps=5).survives(problem.network, thetas, problem.properties).sum())
    assert 0 < 1 - bound <= clopper_pearson(survived, DRAWS, SURE)[1]


def test_random_hidden_layers_and_independent_weights_are_not_carried() -> None:
    made = make_dependent(0, (2, 3, 1), 0.1, "kronecker")
    layers = random_layers(made.network, made.rule.pushforward(made.laws))
    assert not carries(Federation(layers, [layers]), made.properties(made.offsets(2.0)))
    problem = make_convolved("sigmoid", 1, 0.1, head="diagonal")
    layers = random_layers(problem.network, problem.rule.pushforward(problem.laws))
    assert not carries(Federation(layers, [layers]), problem.properties)


def test_noise_of_many_features_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_dependent(0, (2, 4, 1), 0.1, "last", radius=0.1)
    properties = made.properties(made.offsets(2.0))
    head = head_of(made.network, made.rule.pushforward(made.laws), properties)
    assert head.taken_at_the_inputs().isfinite().all()
    monkeypatch.setattr(carried, "MAX_FEATURES", 3)
    assert head.taken_at_the_inputs().isinf().all()
    assert not head.tails()[1].any()


@pytest.mark.parametrize("structure", ["last", "head", "mixed"])
def test_directions_and_covariances_are_those_of_the_dense_law(structure: Structure) -> None:
    """Of a dense block, a Kronecker one, and one with diagonal layers before it."""
    made = make_dependent(2, (3, 4, 2), 0.5, structure)
    law = made.rule.pushforward(made.laws)
    if isinstance(law, DenseGaussian):
        dense = law
    else:
        dense = Blocks(law.loc, torch.zeros_like(law.loc), law.blocks, law.factor_error).dense()
    covariance = (dense.factor @ dense.factor.mT)[-10:, -10:]
    rows, h = normal(made.generator, 1, 3, 2), normal(made.generator, 1, 4)
    directions = normal(made.generator, 1, 4, 5)
    noise = law.layers(made.network)[-1].noise(rows)
    whole = torch.cat([(rows.unsqueeze(-1) * h[:, None, None]).flatten(-2), rows], -1)[0]
    single = torch.einsum("rj,kl->rkjl", rows[0], torch.eye(4).double()).flatten(-2)
    single = torch.nn.functional.pad(single, (0, 2))
    found, error = noise.covariances(h)
    exact = torch.einsum("rka,ab,rb->rk", single, covariance, whole)
    torch.testing.assert_close(found[0], exact)
    assert (error < 1e-10).all()
    moved = torch.einsum("rka,kj->rja", single, directions[0])
    variance = torch.einsum("rja,ab,rjb->rj", moved, covariance, moved)
    torch.testing.assert_close(noise.along(directions)[0], variance.sqrt())
