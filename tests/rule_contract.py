"""What every aggregation rule must fulfil, as functions that tests of any rule can call.

A rule outside the package is held to the same contract: give `check_rule` the rule and its map in rational
arithmetic.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import pytest
import torch
from oracles import exact, random_points
from problems import normal, uniform
from torch import Tensor

from fedcert.errors import ShapeMismatch
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import AggregationRule, registry
from fedcert.rules.registry import describe_rule, read_rule

Column = Sequence[Fraction]
ExactMap = Callable[[Column, int], Fraction]
"""Coordinate d of A(θ_1, …, θ_n), from coordinate d of each θ_i and d."""
POINTS = 20


def check_rule(rule: AggregationRule, exact_map: ExactMap, dimension: int, seed: int = 0) -> None:
    """Hold a rule to the whole contract, for parameter vectors of this dimension."""
    generator = stream(seed, "rule contract", rule.name)
    assert isinstance(rule, AggregationRule)
    for size in (1e-300, 1e-3, 1.0, 1e30):
        check_image(rule, exact_map, random_boxes(generator, rule.clients, dimension, size), generator)
    check_image_of_points(rule, [normal(generator, dimension) for _ in range(rule.clients)])
    check_batches(rule, random_boxes(generator, rule.clients, dimension))
    check_description(rule)
    check_device(rule)
    check_clients(rule, random_boxes(generator, rule.clients + 1, dimension))


def forget_registered_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    for known in ("_BUILDERS", "_READERS"):
        monkeypatch.setattr(registry, known, dict(getattr(registry, known)))


def random_boxes(generator: torch.Generator, clients: int, dimension: int, size: float = 1.0) -> list[Box]:
    return [
        Box.around(size * normal(generator, dimension), size * uniform(generator, dimension))
        for _ in range(clients)
    ]


def exact_aggregate(exact_map: ExactMap, thetas: Sequence[Tensor]) -> list[Fraction]:
    """A(θ_1, …, θ_n) in rational arithmetic."""
    columns = zip(*([exact(x) for x in theta] for theta in thetas), strict=True)
    return [exact_map(column, d) for d, column in enumerate(columns)]


def check_tight_image(rule: AggregationRule, exact_map: ExactMap, boxes: Sequence[Box]) -> None:
    """The image is the hull of the corners' images but for outward rounding: only some rules promise that."""
    image = rule.image(boxes)
    corners = product(*((box.lower, box.upper) for box in boxes))
    values = [exact_aggregate(exact_map, corner) for corner in corners]
    for d, column in enumerate(zip(*values, strict=True)):
        assert exact(image.lower[d]) <= min(column)
        assert max(column) <= exact(image.upper[d])
        assert min(column) - exact(image.lower[d]) < 1e-13
        assert exact(image.upper[d]) - max(column) < 1e-13


def check_image(
    rule: AggregationRule, exact_map: ExactMap, boxes: Sequence[Box], generator: torch.Generator
) -> None:
    """The exact aggregates of points and corners lie in the image, and so do the rounded ones."""
    image = rule.image(boxes)
    corners = [[box.lower for box in boxes], [box.upper for box in boxes]]
    points = [random_points(box, POINTS, generator) for box in boxes]
    for thetas in (*corners, *zip(*points, strict=True)):
        for d, value in enumerate(exact_aggregate(exact_map, thetas)):
            assert exact(image.lower[d]) <= value <= exact(image.upper[d])
    rounded = rule(points)
    assert ((image.lower <= rounded) & (rounded <= image.upper)).all()


def check_image_of_points(rule: AggregationRule, thetas: Sequence[Tensor]) -> None:
    """The image of points is a point, but for rounding."""
    image, aggregate = rule.image([Box.point(theta) for theta in thetas]), rule(thetas)
    magnitude = torch.stack([aggregate.abs(), *(theta.abs() for theta in thetas)]).amax(0)
    assert (image.upper - image.lower <= 1e-12 * magnitude).all()


def check_batches(rule: AggregationRule, boxes: Sequence[Box]) -> None:
    """A batch of boxes has the images of its boxes, to the last bit."""
    other = [Box.point(box.upper) for box in boxes]
    batch = rule.image([Box.stack(pair) for pair in zip(boxes, other, strict=True)])
    for k, own in enumerate((boxes, other)):
        assert_same_box(batch[k], rule.image(own))


def check_description(rule: AggregationRule) -> None:
    """What a file says of the rule makes the same rule again."""
    header, coefficients = describe_rule(rule)
    assert (header["name"], header["clients"]) == (rule.name, rule.clients)
    assert_same_rule(read_rule(header, coefficients), rule)


def check_device(rule: AggregationRule) -> None:
    """The rule on another device is the same rule; here, on the device that it is on."""
    assert_same_rule(rule.to("cpu"), rule)


def check_clients(rule: AggregationRule, too_many: Sequence[Box]) -> None:
    """Another number of clients than the rule is made for, and clients of different networks, are refused."""
    for boxes in (too_many, too_many[: rule.clients - 1]):
        with pytest.raises(ShapeMismatch):
            rule.image(boxes)
        with pytest.raises(ShapeMismatch):
            rule([box.lower for box in boxes])
    if rule.clients > 1:
        shorter = [box[:-1] for box in too_many[: rule.clients - 1]]
        with pytest.raises(ShapeMismatch):
            rule.image([*shorter, too_many[-1]])


def assert_same_rule(found: AggregationRule, rule: AggregationRule) -> None:
    """Both are of one class and describe themselves alike, to the last bit."""
    assert type(found) is type(rule)
    (own_header, own), (header, coefficients) = found.describe(), rule.describe()
    assert dict(own_header) == dict(header)
    assert own.keys() == coefficients.keys()
    for name, tensor in coefficients.items():
        assert own[name].dtype == tensor.dtype
        assert torch.equal(own[name], tensor)


def assert_same_box(found: Box, box: Box) -> None:
    assert torch.equal(found.lower, box.lower)
    assert torch.equal(found.upper, box.upper)
