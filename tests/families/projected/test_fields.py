"""What the neurons of a convolution see, and bounds of networks with convolutions under attack."""

import pytest
import torch
from convolved_problems import NETWORKS, make_convolved
from problems import normal

from fedcert.certificate import clopper_pearson
from fedcert.families.projected import fields
from fedcert.families.projected.chain import Federation, chained_analysis
from fedcert.families.projected.family import ProjectedFamily
from fedcert.families.projected.fields import Fields, on_patches, patches, pixel_tables
from fedcert.families.projected.layers import random_layers, rectified
from fedcert.families.projected.references import Conditional, Reference, Static
from fedcert.families.projected.view import picked
from fedcert.laws import DiagonalGaussian
from fedcert.model.layers import Conv2d, Linear, ReLU
from fedcert.model.network import Network
from fedcert.randomness import stream
from fedcert.verify.attack import ProjectedGradient

SURE, DRAWS = 1 - 1e-7, 500
STACKS = [
    (Conv2d((1, 7, 6), 2, (3, 2), (2, 1), (1, 1)), Conv2d((2, 4, 7), 2, (2, 3), (1, 2), (1, 0), (2, 1))),
    (
        Conv2d((2, 6, 6), 2, (2, 2), groups=2), Conv2d((2, 5, 5), 2, (2, 2), (1, 1), (1, 1)),
        Conv2d((2, 6, 6), 2, (2, 2), (2, 2)),
    ),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(STACKS)))
def test_a_position_computes_on_its_patch_what_it_computes_on_the_image(place: int) -> None:
    """Whole numbers: nothing is rounded."""
    stack = STACKS[place]
    network = Network(tuple(layer for own in stack for layer in (own, ReLU()))[:-1])
    loc = (3 * normal(stream(0, "whole"), network.parameters)).round()
    layers = DiagonalGaussian(loc, torch.ones_like(loc)).layers(network)
    own = Fields(layers).convolutions(len(stack) - 1)
    assert len(own) == len(stack)
    x = (3 * normal(stream(1, "whole"), 2, network.inputs)).round()
    tables = pixel_tables(own, patches(own))
    values, h = picked(x, tables[0]), x
    for layer, on_patch, table in zip(own, on_patches(own, patches(own)), tables[1:], strict=True):
        values, h = on_patch.at(values).mean, layer.at(h).mean
        inside = (table < layer.outputs).repeat(len(x), 1)
        assert torch.equal(values[inside], picked(h, table)[inside])
        h = h.clamp(min=0)
        values = torch.where(inside, values.clamp(min=0), 0.0)


@pytest.mark.parametrize("name", ["wide", "pooled"])
@pytest.mark.parametrize("reference", [Conditional(), Static()])
def test_bounds_on_patches_are_those_on_images(
    name: str, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is random and nothing moves, both compute the network; a few positions at a time, too."""
    problem = make_convolved(name, 0, 0.0 if name == "pooled" else 1e-4, 0.0)
    layers = random_layers(problem.network, problem.deployed)
    federation = Federation(layers, [layers], rectified(problem.network))
    kappa, failure = (torch.full((1,), value).double() for value in (4.0, 1e-6))

    def ranges() -> list[torch.Tensor]:
        found = chained_analysis(federation, problem.properties, kappa, failure, reference)[1]
        return [end for own in found.known for end in (own.lower, own.upper)]

    local = ranges()
    monkeypatch.setattr(fields, "ELEMENTS", 1)
    for own, other in zip(local, ranges(), strict=True):
        assert torch.equal(own, other)
    monkeypatch.setattr(Fields, "convolutions", lambda *_: [])
    for own, other in zip(local, ranges(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-2, atol=1e-2)


def test_only_neurons_that_see_a_part_of_the_image_are_bounded_on_patches() -> None:
    def near(*layers: Conv2d | Linear | ReLU) -> list[bool]:
        network = Network(layers)
        ones = torch.ones(network.parameters).double()
        own = Fields(DiagonalGaussian(ones, ones).layers(network))
        return [bool(own.convolutions(depth)) for depth in range(len(own.layers))]

    assert near(Conv2d((1, 4, 4), 2, (2, 2)), ReLU(), Linear(18, 2)) == [True, False]
    assert near(Conv2d((1, 4, 4), 2, (4, 4)), ReLU(), Linear(2, 2)) == [False, False]
    assert near(Linear(2, 16), ReLU(), Conv2d((1, 4, 4), 2, (2, 2))) == [False, False]
    other_image = Conv2d((1, 9, 2), 1, (2, 2))  # 18 numbers, which the first layer arranges in another way
    assert near(Conv2d((1, 4, 4), 2, (2, 2)), ReLU(), other_image) == [True, False]


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("name", ["one", "wide", "pooled", "averaged"])
@pytest.mark.parametrize(("scale", "radius"), [(0.003, 1e-3), (0.03, 0.0), (0.1, 0.01)])
def test_attacks_succeed_no_more_often_than_the_bounds_say(name: str, scale: float, radius: float) -> None:
    for seed, sigmas in enumerate((1.0, 3.0, -2.0)):
        problem = make_convolved(name, seed, scale, radius, sigmas)
        direct = ProjectedFamily().prove(problem, "direct")
        transported = ProjectedFamily().prove(problem, "transported")
        thetas = problem.rule([
            law.sample(DRAWS, stream(seed, "draws", i)) for i, law in enumerate(problem.laws)
        ])
        survived = int(ProjectedGradient(steps=5).survives(problem.network, thetas, problem.properties).sum())
        low, high = clopper_pearson(survived, DRAWS, SURE)
        assert max(direct.lower.item(), transported.lower.item()) <= high
        assert direct.upper is not None
        assert radius > 0 or direct.upper.item() >= low


@pytest.mark.slow
@pytest.mark.usefixtures("without_annotations")
@pytest.mark.parametrize("name", NETWORKS)
def test_at_a_small_scale_much_is_proven(name: str) -> None:
    problem = make_convolved(name, 0, 0.002, 1e-4, 40.0)
    assert ProjectedFamily().prove(problem, "transported").lower.item() > 0.99


@pytest.mark.slow
def test_networks_that_are_broken_at_the_mean_have_an_upper_bound() -> None:
    upper = ProjectedFamily().prove(make_convolved("two", 0, 0.002, 0.0, -40.0), "direct").upper
    assert upper is not None
    assert upper.item() < 0.01
