from dataclasses import fields, replace

import pytest
import torch
from problems import normal, uniform

from fedcert.families.projected import split as splitting
from fedcert.families.projected.bound import analysis, prepare, violation
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.split import STARTS, coordinates, least_violation, searched, uniform_split
from fedcert.laws import DiagonalGaussian
from fedcert.laws.diagonal_affine import DiagonalAffine
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream


def make_problem(
    seed: int, widths: tuple[int, ...], count: int = 3
) -> tuple[list[DiagonalAffine], Properties]:
    """Some properties are almost surely safe, some almost never, some in between."""
    generator = stream(seed, "split")
    network = mlp(*widths)
    loc = 2 * network.initialise(generator).double()
    law = DiagonalGaussian(loc, 0.03 * (0.2 + uniform(generator, len(loc))))
    centres, C = normal(generator, count, widths[0]), normal(generator, count, 1, widths[-1])
    theta = law.loc + law.scale * normal(generator, 500, network.parameters)
    margins = (network(theta, centres).unsqueeze(-2) * C).sum(-1)
    sigmas = torch.linspace(1.0, 8.0, count, dtype=torch.float64).unsqueeze(-1)
    d = sigmas * margins.std(0) - margins.mean(0)
    return random_layers(network, law), Properties(Box.around(centres, 1e-3), C, d)


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(3, 2), (3, 6, 2), (3, 5, 4, 2)])
def test_the_search_is_never_worse_than_where_it_starts(widths: tuple[int, ...]) -> None:
    layers, properties = make_problem(0, widths, count=2)
    found, _ = least_violation(layers, properties)
    for start in STARTS:
        split = uniform_split(layers, properties, start)
        assert (found.probability <= violation(layers, properties, split).probability).all()


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(3, 2), (3, 6, 2), (3, 5, 4, 2)])
def test_the_split_that_was_found_gives_the_violation_that_was_found(widths: tuple[int, ...]) -> None:
    layers, properties = make_problem(1, widths, count=2)
    found, split = least_violation(layers, properties)
    again = violation(layers, properties, split)
    assert torch.allclose(found.probability, again.probability, rtol=1e-9)
    assert torch.allclose(found.events, again.events, rtol=1e-9)
    assert torch.allclose(found.tails, again.tails, rtol=1e-6, atol=1e-12)
    assert split.ranges.shape == split.tilt.shape == (len(properties), max(1, len(layers) - 1))
    assert split.movement.shape == split.deviation.shape == (len(properties), len(layers))


@pytest.mark.slow
def test_the_search_gains_something() -> None:
    layers, properties = make_problem(2, (3, 6, 2), count=6)
    found, _ = least_violation(layers, properties)
    starts = [
        violation(layers, properties, uniform_split(layers, properties, start)).probability
        for start in STARTS
    ]
    assert (found.probability < torch.stack(starts).amin(0)).any()


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(3, 2), (3, 5, 4, 2)])
def test_the_search_in_parts_finds_what_the_whole_one_does(widths, monkeypatch) -> None:
    layers, properties = make_problem(3, widths, count=3)
    whole, _ = least_violation(layers, properties)
    calls: list[int] = []

    def track(parts, _description):
        calls.append(len(list(parts)))
        return parts

    monkeypatch.setattr(splitting, "ELEMENTS", 1)
    parts, _ = least_violation(layers, properties, track)
    assert calls == [3]
    assert torch.allclose(whole.probability, parts.probability, rtol=1e-9)
    assert torch.allclose(whole.events, parts.events, rtol=1e-9)


def test_parts_hold_every_property_once(monkeypatch) -> None:
    layers, properties = make_problem(4, (3, 5, 4, 2), count=7)
    for elements in (1, 40, 100, 2**22):
        monkeypatch.setattr(splitting, "ELEMENTS", elements)
        places = [p for part in splitting.parts(layers, properties) for p in range(7)[part]]
        assert places == list(range(7))


def test_probabilities_below_good_enough_are_not_searched(monkeypatch) -> None:
    layers, properties = make_problem(5, (3, 6, 2))
    monkeypatch.setattr(splitting, "GOOD_ENOUGH", 2.0)
    found, split = least_violation(layers, properties)
    starts = [violation(layers, properties, uniform_split(layers, properties, s)).probability for s in STARTS]
    assert torch.equal(found.probability, torch.stack(starts).amin(0))
    assert set(split.movement.flatten().tolist()) <= {movement for _, movement, _ in STARTS}


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(3, 2), (3, 6, 2), (3, 5, 4, 2), (3, 4, 4, 3, 2)])
def test_the_coordinates_are_all_that_a_bound_depends_on(widths: tuple[int, ...]) -> None:
    layers, properties = make_problem(6, widths, count=2)
    split = uniform_split(layers, properties, STARTS[0])
    usual = violation(layers, properties, split).probability
    matters = set()
    for field in fields(split):
        for place in range(getattr(split, field.name).shape[-1]):
            for factor in (1e4, 1e-4):
                changed = getattr(split, field.name).clone()
                changed[:, place] *= factor
                found = violation(layers, properties, replace(split, **{field.name: changed})).probability
                if not torch.equal(found, usual):
                    matters.add((field.name, place))
    assert matters <= set(coordinates(len(layers)))
    assert {c for c in coordinates(len(layers)) if c[0] != "tilt"} <= matters | {("ranges", 0)}


@pytest.mark.parametrize("widths", [(3, 6, 2), (3, 5, 4, 2)])
def test_what_is_known_of_hidden_layers_serves_other_last_layers_and_margins(widths) -> None:
    layers, properties = make_problem(1, widths)
    split = uniform_split(layers, properties, STARTS[0])
    known = prepare(layers, properties, split)
    movement = torch.cat([split.movement[:, :-1], 1e-4 * torch.ones_like(split.movement[:, -1:])], -1)
    other, asked = replace(split, movement=movement), replace(properties, d=properties.d + 0.01)
    expected, found = analysis(layers, asked, other)[0], analysis(layers, asked, other, known)[0]
    assert torch.equal(found.tails, expected.tails)
    assert torch.equal(found.events, expected.events)


def test_another_slope_of_the_last_lines_needs_nothing_else_anew() -> None:
    layers, properties = make_problem(1, (3, 5, 4, 2))
    split = uniform_split(layers, properties, STARTS[0])
    known = prepare(layers, properties, split)
    other = replace(split, tilt=torch.full_like(split.tilt, 3.0))
    expected = analysis(layers, properties, other)[0]
    found = analysis(layers, properties, other, known.tilted(other.tilt[:, 1]))[0]
    assert torch.equal(found.tails, expected.tails)
    assert torch.equal(found.events, expected.events)


def test_a_search_remembers_what_is_known_with_its_split(monkeypatch: pytest.MonkeyPatch) -> None:
    layers, properties = make_problem(2, (3, 5, 4, 2))
    monkeypatch.setattr(splitting, "ELEMENTS", 100)  # two properties at a time
    found = searched(layers, properties)
    assert len(found.known) == 2
    prices = torch.cat([own.price.upper for _, own in found.known])
    assert torch.equal(prices, prepare(layers, properties, found.split).price.upper)
    assert not searched(*make_problem(2, (3, 2))).known
