"""Lines that may be exceeded: by how much, what that costs, and what it wins."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from problems import normal, vector
from torch import Tensor

from fedcert.families.projected.bound import analysis, violation
from fedcert.families.projected.excess import Excess, price_of_excess, reach_for
from fedcert.families.projected.layers import random_layers
from fedcert.families.projected.relaxation import Lines
from fedcert.families.projected.split import STARTS, least_violation, uniform_split
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.randomness import stream


def matrix(values: list[float]) -> Tensor:
    """One row."""
    return vector(*values).unsqueeze(0)


numbers = st.floats(-3.0, 3.0)
HARD = Lines.of(matrix([-9.0]), matrix([9.0]))


@given(numbers, numbers, st.floats(0.125, 8.0), st.floats(0.0, 4.0), numbers)
def test_a_line_and_what_exceeds_it_are_above_the_relu(low, high, rate, reach, a) -> None:
    """In rational arithmetic, and for every a: the thresholds are those of the lines."""
    excess = Excess(matrix([low, high]), matrix([rate, rate]), matrix([0.0, 0.0]))
    lines, average = excess.lines(HARD, matrix([reach]))
    if reach == 0:
        assert torch.equal(lines.height, HARD.height.unsqueeze(-2))
        assert average.item() == 0
        return
    lowest, u = (min(0.0, centre - reach / rate) for centre in (low, high))
    s, t, x = Fraction(lines.slope.item()), Fraction(lines.height.item()), Fraction(a)
    beyond = s * max(Fraction(lowest) - x, Fraction(0)) + (1 - s) * max(x + Fraction(u), Fraction(0))
    assert max(x, Fraction(0)) <= s * x + t + beyond
    stated = s * Fraction(math.exp(rate * lowest)) + (1 - s) * Fraction(math.exp(rate * u))
    assert average.item() >= float(stated) * (1 - 1e-12)


def deep_problem(seed: int, widths: tuple[int, ...], scale: float) -> tuple[list, Properties, Tensor]:
    """Layers, a constraint at a point, and its margins in sampled networks."""
    generator = stream(seed, "excess")
    network = mlp(*widths)
    loc = network.initialise(generator).double() * 2
    law = DiagonalGaussian(loc, torch.full_like(loc, scale))
    x, C = normal(generator, 1, widths[0]), normal(generator, 1, 1, widths[-1])
    theta = law.sample(20_000, generator)
    margins = (network(theta, x) @ C[0].mT)[:, 0, 0]
    properties = Properties(Box.point(x), C, (-margins.quantile(0.1)).view(1, 1))
    return random_layers(network, law), properties, theta


@pytest.mark.parametrize("seed", range(3))
def test_neurons_are_beyond_a_threshold_by_no_more_than_stated_on_average(seed: int) -> None:
    layers, properties, theta = deep_problem(seed, (3, 6, 6, 2), 0.1)
    _, (known, _) = analysis(layers, properties, uniform_split(layers, properties, STARTS[0], 1.0))
    excess, inner = known.hidden[0].excess, mlp(3, 6, 6)
    a = inner(theta[:, : inner.parameters], properties.regions.lower)[:, 0]
    sides, settled = torch.cat([a, -a], dim=-1), (known.spreads[1].slope != 0.5).repeat(1, 2)
    assert not settled.all()
    assert torch.equal(excess.exponent.isinf(), settled)  # a neuron whose sign is known keeps its line
    for reach in (0.0, 1.0, 3.0):
        at = excess.centre - reach / excess.rate
        sampled = (at - sides).clamp(min=0.0)
        stated = (excess.exponent + excess.rate * at).exp()
        assert (sampled.mean(0) - 6 * sampled.std(0) / len(a) ** 0.5 <= stated).all()
        assert (stated < 6 * sides.std(0))[~settled].all()


def test_a_shift_costs_at_most_the_peak_of_the_density() -> None:
    """Pr(x + N ≤ t) − Pr(x + N ≤ 0) for normals N, any x and t ≥ 0; equal to first order at x = 0."""
    s = vector(0.5, 1.0, 2.0).view(-1, 1, 1)
    x, t = torch.linspace(-4, 4, 81).double().view(1, -1, 1), vector(1e-3, 0.1, 1.0, 5.0).view(1, 1, -1)
    added = torch.special.ndtr((t - x) / s) - torch.special.ndtr(-x / s)
    price = price_of_excess(t.expand_as(added)[:, 0], s.expand_as(added)[:, 0]).unsqueeze(1)
    assert (added <= price).all()
    assert torch.allclose(added[:, 40, 0], price[:, 0, 0], rtol=1e-3, atol=0)


def test_prices_of_what_is_unknown_are_infinite() -> None:
    assert price_of_excess(matrix([0.0, 0.0]), matrix([0.0, math.nan])).tolist() == [[0.0, 0.0]]
    bad = price_of_excess(matrix([math.nan, 1.0, 1.0, math.inf]), matrix([1.0, 0.0, math.nan, 1.0]))
    assert bad.tolist() == [[math.inf] * 4]


def test_rows_that_are_far_from_violated_reach_farther_and_at_last_keep_their_ranges() -> None:
    reach = reach_for(matrix([-1.0, 0.0, 1.0, 2.0, 9.0]), matrix([1.0] * 5), vector(1.0))[0]
    assert reach[0] == reach[1] < reach[2] < reach[3]
    assert reach[4] == 0.0
    assert (reach_for(matrix([1.0]), matrix([1.0]), vector(0.0)) == 0).all()


def test_lines_that_may_be_exceeded_prove_more_where_many_signs_are_unknown() -> None:
    layers, properties, _ = deep_problem(1, (4, 24, 24, 2), 0.04)
    found = [
        violation(layers, properties, uniform_split(layers, properties, STARTS[0], reach)).probability.item()
        for reach in (0.0, 1.0)
    ]
    assert 0.1 < found[1] < 0.8 * found[0]
    best, split = least_violation(layers, properties)
    assert best.probability.item() <= found[1]
    assert split.reach.item() == 1.0


def test_nothing_is_claimed_of_an_excess_that_is_not_a_number() -> None:
    layers, properties, _ = deep_problem(1, (3, 6, 6, 2), 0.1)
    split = uniform_split(layers, properties, STARTS[0], 1.0)
    _, (known, _) = analysis(layers, properties, split)
    for name in ("centre", "rate", "exponent"):
        own = known.hidden[0].excess
        spoiled = replace(own, **{name: torch.full_like(getattr(own, name), math.nan)})
        _, average = spoiled.lines(known.hidden[0].lines, matrix([1.0]))
        unknown = known.hidden[0].lines.widest > 0
        assert unknown.any()
        assert not (average[0, 0][unknown[0]] < math.inf).any()
