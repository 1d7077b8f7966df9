"""The checker's verification: closed forms, at least as tight as the fast path, never refuted."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from flint import ctx
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import exact as rational
from oracles import forward, random_points
from problems import SPECIFICATIONS, Problem, make_problem, vector
from saved_certificates import as_network, as_properties

from fedcert.errors import InvalidCertificate
from fedcert.model.layers import LeakyReLU
from fedcert.model.network import Linear, Network, ReLU, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.verify import AnyOf
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier
from fedcert_check.balls import PRECISION, ZERO, Interval, exact
from fedcert_check.rectifier import Rectifier
from fedcert_check.verifier import proven as proven_of
from fedcert_check.verifier import unflatten

VERIFIERS = [IntervalVerifier(), MergedIntervalVerifier(), LinearVerifier()]
STRADDLING = {"seed": 0, "widths": (4, 4, 3), "weight_radius": 3.0, "input_radius": 3.0}
DEEP = {"seed": 3, "widths": (3, 4, 4, 2), "weight_radius": 0.2, "input_radius": 0.1}


def proven(net: Network, box: Box, properties: Properties, p: int = 0) -> bool:
    """The checker's verdict on one box and one property."""
    with ctx.workprec(PRECISION):
        ends = Interval(exact(box.lower.numpy()), exact(box.upper.numpy()))
        return proven_of(unflatten(as_network(net), ends), as_properties(properties), p)


def offset(problem: Problem, d: torch.Tensor) -> Properties:
    return Properties(problem.properties.regions, problem.properties.C, d)


@settings(max_examples=40)
@given(*[st.integers(-3 * 2**30, 3 * 2**30).map(lambda k: k / 2**30) for _ in range(4)])
def test_a_product_of_two_intervals_is_decided_exactly(a: float, b: float, c: float, d: float) -> None:
    """w x ≥ t for w in [w̲, w̄], x in [x̲, x̄]: true at the least corner product, false one step above.

    The numbers are of a size that 128 bits hold exactly, sums included.
    """
    (a, b), (c, d) = sorted((a, b)), sorted((c, d))
    least = min(Fraction(w) * Fraction(x) for w in (a, b) for x in (c, d))
    box = Box(vector(a, 0.0), vector(b, 0.0))
    region = Box(vector(c)[None], vector(d)[None])
    below = float(least)
    below = below if Fraction(below) <= least else math.nextafter(below, -math.inf)
    above = math.nextafter(below, math.inf)
    for t, holds in ((below, True), (above, Fraction(above) <= least)):
        properties = Properties(region, vector(1.0)[None, None], vector(-t)[None])
        assert proven(mlp(1, 1), box, properties) == holds


def test_lines_prove_what_intervals_do_not() -> None:
    """relu(x) + relu(−x) ≤ 1.5 on [−1, 1] by lines of height ½ each; intervals give 2."""
    theta = vector(1.0, -1.0, 0.0, 0.0, -1.0, -1.0, 1.5)
    region = Box(vector(-1.0)[None], vector(1.0)[None])
    for d, holds in ((0.0, True), (-0.6, False)):
        properties = Properties(region, vector(1.0)[None, None], vector(d)[None])
        assert proven(mlp(1, 2, 1), Box.point(theta), properties) == holds
        assert not IntervalVerifier()(mlp(1, 2, 1), Box.point(theta[None]), properties).any()


@pytest.mark.slow
@settings(max_examples=50)
@given(SPECIFICATIONS)
@example(STRADDLING)
@example(DEEP)
def test_what_the_fast_path_proves_by_a_hair_is_proven(specification: dict) -> None:
    """Each verifier's own margin is taken off d: what is left is a few units in the last place."""
    problem = make_problem(**specification)
    for verifier in VERIFIERS:
        margins = verifier.margins(problem.network, problem.boxes, problem.properties)
        for b in range(len(problem.boxes)):
            tight = offset(problem, problem.properties.d - margins[b] * (1 - 1e-15))
            accepted = AnyOf(tuple(VERIFIERS))(problem.network, problem.boxes[b : b + 1], tight)[0]
            for p in accepted.nonzero().squeeze(-1).tolist():
                assert proven(problem.network, problem.boxes[b], tight, p)


@pytest.mark.slow
@settings(max_examples=40)
@given(SPECIFICATIONS)
@example(STRADDLING)
@example(DEEP)
def test_no_network_of_the_box_refutes_a_proof(specification: dict) -> None:
    """d is set just below what one network of the box has at one input, in rational arithmetic."""
    problem = make_problem(**specification)
    net, properties = problem.network, problem.properties
    for p in range(len(properties)):
        theta = random_points(problem.boxes[0], 1, problem.generator)[0]
        x = random_points(properties.regions[p], 1, problem.generator)[0]
        outputs = forward(net, theta, x)
        rows = properties.C[p]
        values = [sum(rational(c) * z for c, z in zip(row, outputs, strict=True)) for row in rows]
        d = properties.d.clone()
        for r, value in enumerate(values):
            d[p, r] = float(-value)
            while Fraction(d[p, r].item()) >= -value:
                d[p, r] = math.nextafter(d[p, r].item(), -math.inf)
        assert not proven(net, problem.boxes[0], offset(problem, d), p)


def test_ties_between_the_two_lines_below_a_relu_are_tried_both_ways() -> None:
    """relu(a), a = w x in [−1, 1]: with d = 0 the line 0 is needed, and with a cancelling bias the line a."""
    region = Box(vector(-1.0)[None], vector(1.0)[None])
    for theta, d in ((vector(1.0, 0.0, 1.0, 0.0), 0.0), (vector(1.0, 0.0, 1.0, 0.0), 1.0)):
        properties = Properties(region, vector(1.0)[None, None], vector(d)[None])
        assert proven(mlp(1, 1, 1), Box.point(theta), properties)
    wide = Box(vector(1.0, 0.0, 1.0, 0.0), vector(1.0, 2.0**-40, 1.0, 0.0))
    with ctx.workprec(PRECISION):
        low, high = exact(np.array([-1.0])), exact(np.array([1.0 + 2.0**-40]))
        bounds = Interval(low, high)
        lines = [Rectifier(ZERO).lines(bounds, rising) for rising in (False, True)]
        assert [float(own.slope_below[0]) for own in lines] == [0.0, 1.0]
    assert proven(mlp(1, 1, 1), wide, Properties(region, vector(1.0)[None, None], vector(0.0)[None]))


def test_layers_in_another_order_are_bounded_too() -> None:
    net = Network((Linear(1, 1), Linear(1, 1), ReLU()))
    region = Box(vector(1.0)[None], vector(2.0)[None])
    box = Box.point(vector(1.0, 0.0, 2.0, 0.0))
    for d, holds in ((-2.0, True), (-2.1, False)):
        assert proven(net, box, Properties(region, vector(1.0)[None, None], vector(d)[None])) == holds


def test_a_box_for_another_network_is_refused() -> None:
    with pytest.raises(InvalidCertificate, match="3 parameters"):
        proven(mlp(1, 1), Box.point(vector(0.0, 0.0, 0.0)), make_problem(0, (1, 1)).properties)


@pytest.mark.parametrize("slope", [0.0, 0.1, 0.25, 1.0])
def test_a_leaky_relu_is_bounded_in_closed_form(slope: float) -> None:
    """max(a, s a) + d ≥ 0 for a in [−1, 2]: least at −1, where it is −s."""
    net = Network((Linear(1, 1), LeakyReLU(slope), Linear(1, 1)))
    region, box = Box(vector(-1.0)[None], vector(2.0)[None]), Box.point(vector(1.0, 0.0, 1.0, 0.0))
    for d, holds in ((slope, True), (math.nextafter(slope, -1.0), False)):
        assert proven(net, box, Properties(region, vector(1.0)[None, None], vector(d)[None])) == holds
    # −max(a, s a) + d ≥ 0 needs the line above: greatest at 2
    for d, holds in ((2.0, True), (math.nextafter(2.0, 0.0), False)):
        assert proven(net, box, Properties(region, vector(-1.0)[None, None], vector(d)[None])) == holds


def test_weights_between_bounds_meet_activations_of_either_sign() -> None:
    """w max(a, a/2) for w in [0, 1] and a in [−1, 1]: the least is −½, at w = 1 and not at the least w."""
    net = Network((Linear(1, 1), LeakyReLU(0.5), Linear(1, 1)))
    box = Box(vector(1.0, 0.0, 0.0, 0.0), vector(1.0, 0.0, 1.0, 0.0))
    for low, high in ((-1.0, -1.0), (-1.0, 1.0)):
        region = Box(vector(low)[None], vector(high)[None])
        for d, holds in ((0.5, True), (math.nextafter(0.5, 0.0), False)):
            asked = Properties(region, vector(1.0)[None, None], vector(d)[None])
            assert proven(net, box, asked) == holds


@pytest.mark.slow
@settings(max_examples=30)
@given(SPECIFICATIONS, st.sampled_from([0.1, 0.5, 1.0]))
def test_no_leaky_network_of_the_box_refutes_a_proof(specification: dict, slope: float) -> None:
    """d is set below what corners of the box have at some inputs, by far more than floating point loses."""
    problem = make_problem(**specification)
    net = Network(tuple(LeakyReLU(slope) if layer == ReLU() else layer for layer in problem.network.layers))
    box, asked = problem.boxes[0], problem.properties
    generator = problem.generator
    for p in range(len(asked)):
        d = asked.d.clone()
        for _ in range(8):
            theta = torch.where(torch.rand(box.lower.shape, generator=generator) < 0.5, box.lower, box.upper)
            x = random_points(asked.regions[p], 1, generator)[0]
            values = asked.C[p] @ net(theta, x[None])[0]
            d[p] = torch.minimum(d[p], -values - 1e-6 * (1 + values.abs()))
        assert not proven(net, box, offset(problem, d), p)
