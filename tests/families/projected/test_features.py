"""Fixed layers in front of random ones: a box that holds their outputs, and bounds that hold."""

import math

import pytest
import torch
from convolved_problems import FEATURES, HEADS, Head, make_convolved
from problems import uniform

from fedcert.certificate import clopper_pearson
from fedcert.errors import UnsupportedLayer
from fedcert.families.projected.family import ProjectedFamily
from fedcert.families.projected.features import of_features
from fedcert.families.projected.layers import first_random, random_layers, rectified
from fedcert.laws import DenseGaussian, DiagonalGaussian
from fedcert.model.layers import Linear, MaxPool2d, ReLU, Tanh
from fedcert.model.network import Network
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient

SURE, DRAWS = 1 - 1e-7, 400


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_the_box_holds_the_outputs_of_the_features(name: str, radius: float) -> None:
    problem = make_convolved(name, 0, 0.1, radius)
    start = first_random(problem.network)
    if start == 0:
        assert of_features(problem.network, problem.deployed, problem.properties) is problem.properties
        return
    box, law = of_features(problem.network, problem.deployed, problem.properties).regions, problem.deployed
    regions = problem.properties.regions
    x = regions.lower + (regions.upper - regions.lower) * uniform(
        stream(0, name), 200, problem.network.inputs
    )
    x = torch.minimum(torch.maximum(x, regions.lower), regions.upper)
    parameters = problem.network.unflatten(law.loc)
    for layer, own in zip(problem.network.layers[:start], parameters, strict=False):
        x = layer(own, x)
    assert (box.lower <= x).all()
    assert (x <= box.upper).all()
    assert radius > 0 or (box.upper - box.lower).max() < 1e-10


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", ["convolved", "maxima", "leaky"])
def test_nothing_is_paid_for_features(name: str, head: Head) -> None:
    """At radius 0 a constraint has the tail of a half-space, from either side; one of two is as likely."""
    for sigmas in (2.0, -2.0):
        problem = make_convolved(name, 1, 0.05, 0.0, sigmas, head=head)
        found = ProjectedFamily().prove(problem, "direct")
        network, law = problem.network, problem.rule.pushforward(problem.laws)
        margins = torch.einsum(
            "prk,spk->spr",
            problem.properties.C,
            network(law.sample(20_000, stream(0, name)), problem.properties.regions.lower),
        )
        z = (margins.mean(0) + problem.properties.d) / margins.std(0)
        tails = 0.5 * torch.erfc(z / math.sqrt(2))
        assert found.upper is not None
        if sigmas > 0:
            assert found.lower.item() == pytest.approx(max(0.0, 1 - tails.sum().item()), abs=0.02)
        else:
            assert found.upper.item() == pytest.approx(1 - tails.max().item(), abs=0.02)


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", FEATURES)
def test_attacks_succeed_no_more_often_than_the_bounds_say(name: str, head: Head) -> None:
    for seed, (sigmas, radius) in enumerate(((1.0, 0.0), (3.0, 0.01), (-2.0, 0.0))):
        problem = make_convolved(name, seed, 0.05, radius, sigmas, head=head)
        found = [ProjectedFamily().prove(problem, kind) for kind in ("direct", "transported")]
        thetas = problem.rule([
            law.sample(DRAWS, stream(seed, "draws", i)) for i, law in enumerate(problem.laws)
        ])
        survived = int(ProjectedGradient(steps=5).survives(problem.network, thetas, problem.properties).sum())
        low, high = clopper_pearson(survived, DRAWS, SURE)
        assert max(own.lower.item() for own in found) <= high
        assert found[0].upper is not None
        assert radius > 0 or found[0].upper.item() >= low


def test_random_layers_before_other_functions_are_refused() -> None:
    network = FEATURES["maxima"]
    ones = torch.ones(network.parameters).double()
    with pytest.raises(UnsupportedLayer, match="MaxPool2d"):
        random_layers(network, DiagonalGaussian(ones, ones))
    dense = DenseGaussian(torch.zeros_like(ones), torch.ones(len(ones), 1).double())
    with pytest.raises(UnsupportedLayer, match="MaxPool2d"):
        random_layers(network, dense)
    with pytest.raises(UnsupportedLayer, match="at the end"):
        random_layers(Network((Linear(1, 1), Tanh())), DiagonalGaussian(ones[:2], ones[:2]))


def test_a_law_that_joins_features_and_head_is_refused() -> None:
    network = Network((Linear(2, 2), Tanh(), Linear(2, 1), ReLU(), Linear(1, 1)))
    factor = torch.zeros(network.parameters, 1).double()
    factor[6:] = 1.0  # one normal in two layers behind the tanh
    with pytest.raises(UnsupportedLayer, match="joins layers"):
        random_layers(network, DenseGaussian(torch.zeros(network.parameters).double(), factor))


def test_where_features_end_and_which_layers_have_a_relu() -> None:
    pool = MaxPool2d((1, 2, 2), (1, 2), (1, 1))
    network = Network((Linear(4, 4), ReLU(), pool, ReLU(), Linear(2, 2), Linear(2, 2)))
    assert first_random(network) == 4
    assert rectified(network) == [False]
    assert (first_random(FEATURES["convolved"]), rectified(FEATURES["convolved"])) == (0, [True, False, True])
