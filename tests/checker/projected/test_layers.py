"""The laws of layers, against rational arithmetic; and helpers that must not lose a NaN."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from balls import array, between, dyadic
from federated_problems import Federated, make_federated
from flint import arb
from saved_certificates import as_document
from torch import Tensor

from fedcert.errors import InvalidCertificate
from fedcert.rules import LinearRule
from fedcert_check.balls import exact
from fedcert_check.layers import Linear, Network, ReLU
from fedcert_check.masses import gaussian
from fedcert_check.projected.laws import deployed, independent, own, shares
from fedcert_check.projected.layers import (
    RandomLayer,
    Unproven,
    greatest,
    largest,
    root,
    times,
    unit,
)
from fedcert_check.projected.stack import stacked

NAN, INFINITY = arb("nan"), arb("inf")


def fractions(values: Tensor) -> list[Fraction]:
    return [Fraction(v) for v in values.tolist()]


def federation(rule: str) -> Federated:
    problem = make_federated(3, (2, 3, 2), 0.1, clients=3, linear=rule == "linear")
    if rule == "pog":
        laws = [law.components[0] for law in problem.laws]
        return replace(problem, rule=LinearRule.product_of_gaussians(laws))
    return problem


def flattened(layers: list[RandomLayer]) -> tuple[list[arb], list[arb]]:
    """Means and variances of all parameters, in the order of a message."""
    means = [v for own in layers for v in (*own.mean.entries(), *own.bias)]
    variances = [v for own in layers for v in (*own.variance.entries(), *own.bias_variance)]
    return means, variances


def enclose(balls: list[arb], numbers: list[Fraction]) -> bool:
    return all(ball.contains(dyadic(number)) for ball, number in zip(balls, numbers, strict=True))


@pytest.mark.parametrize("rule", ["fedavg", "pog", "linear"])
def test_the_deployed_law_is_that_of_rational_arithmetic(rule: str) -> None:
    problem = federation(rule)
    size = problem.network.parameters
    weights = [fractions(own.expand(size)) for own in problem.rule.weights]
    locs = [fractions(law.components[0].loc) for law in problem.laws]
    scales = [fractions(law.components[0].scale) for law in problem.laws]
    offset = getattr(problem.rule, "offset", None)
    start = [Fraction(0)] * size if offset is None else fractions(offset)
    loc = [v + sum(w[j] * m[j] for w, m in zip(weights, locs, strict=True)) for j, v in enumerate(start)]
    noise = [[(w[j] * s[j]) ** 2 for j in range(size)] for w, s in zip(weights, scales, strict=True)]
    document = as_document(problem)
    layers = deployed(document).layers
    means, variances = flattened(layers)
    assert enclose(means, loc)
    assert enclose(variances, [sum(column, Fraction(0)) for column in zip(*noise, strict=True)])
    assert all(float(v.rad()) <= 1e-14 * abs(float(v.mid())) for v in (*means, *variances))
    for own_noise, share in zip(noise, shares(document), strict=True):
        assert enclose(flattened(share.layers)[0], [Fraction(0)] * size)
        assert enclose(flattened(share.layers)[1], own_noise)
    for i in range(3):
        means, variances = flattened(own(document, gaussian(document.laws[i])).layers)
        assert enclose(means, locs[i])
        assert enclose(variances, [s * s for s in scales[i]])
    for layer in layers:
        M, S2 = layer.mean.entries(), layer.variance.entries()
        assert all(q.overlaps(m * m + v) for q, m, v in zip(layer.square.entries(), M, S2, strict=True))
        table = np.array(S2, dtype=object).reshape(layer.outputs, -1)
        assert all(
            w * w >= v.lower() for w, column in zip(layer.widest, table.T, strict=True) for v in column
        )


def test_layers_know_whether_they_are_random() -> None:
    made = federation("fedavg")
    assert [(layer.fixed_weights, layer.fixed) for layer in deployed(as_document(made)).layers] == [
        (False, False)
    ] * 2
    nobody = replace(made, rule=LinearRule(torch.zeros(3, 1).double()))
    assert all(layer.fixed_weights and layer.fixed for layer in deployed(as_document(nobody)).layers)


@pytest.mark.parametrize("pattern", ["r", "lr", "lrr", "lrrl", "lrlr"])
def test_other_patterns_of_layers_are_refused(pattern: str) -> None:
    numbers = exact(np.ones(2 * pattern.count("l")))
    with pytest.raises(InvalidCertificate, match=r"layer|ReLU|activation"):
        stacked(
            Network(tuple(Linear(1, 1) if kind == "l" else ReLU() for kind in pattern)),
            independent(numbers, numbers),
        )


@pytest.mark.parametrize(("low", "high"), [(0.0, 4.0), (-1.0, 4.0), (-4.0, 0.0), (-1e-30, 1e-30), (1.0, 4.0)])
def test_a_root_encloses_those_of_all_numbers_that_are_not_negative(low: float, high: float) -> None:
    (found,) = root(array(between(low, high)))
    for v in np.linspace(max(low, 0.0), high, 7):
        assert found.overlaps(arb(v).sqrt())
    slack = 1e-4 * math.sqrt(max(high, -low))  # a ball's radius has 30 bits
    assert float(found.upper()) <= math.sqrt(high) + slack
    assert float(found.lower()) >= math.sqrt(max(low, 0.0)) - slack


@pytest.mark.parametrize("bad", [NAN, arb(0, math.inf)], ids=str)
def test_roots_keep_what_is_not_bounded(bad: arb) -> None:
    assert not root(array(bad))[0].is_finite()


@pytest.mark.parametrize("bad", [NAN, INFINITY, -INFINITY, arb(0, math.inf)], ids=str)
@pytest.mark.parametrize("place", range(3))
def test_a_largest_number_is_not_found_among_unbounded_ones(bad: arb, place: int) -> None:
    balls = [arb(1), arb(2)]
    balls.insert(place, bad)
    with pytest.raises(Unproven):
        largest(*balls)
    for row in range(2):
        table = np.array([[arb(1), arb(2), arb(3)]] * 2, dtype=object)
        table[row, place] = bad
        with pytest.raises(Unproven):
            greatest(table)


def test_the_largest_number_is_above_every_ball() -> None:
    for balls in itertools.permutations([between(-3, 5), arb(4), between(4.5, 4.75)]):
        assert largest(*balls) == between(-3, 5).upper()


def test_products_and_unit_rows() -> None:
    rows = times(unit(2), deployed(as_document(make_federated(0, (3, 2), 0.1))).layers[0].mean)
    problem = make_federated(0, (3, 2), 0.1)
    mean = deployed(as_document(problem)).layers[0].mean
    assert all(a.overlaps(b) for a, b in zip(rows.ravel(), mean.entries(), strict=True))
