import math
import statistics
from fractions import Fraction
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact, random_points
from problems import normal, uniform

from fedcert.errors import InvalidWeights, ShapeMismatch
from fedcert.laws import DiagonalGaussian
from fedcert.numerics.box import Box
from fedcert.randomness import stream
from fedcert.rules import (
    AggregationRule,
    CoordinateMedian,
    GaussianRule,
    LinearRule,
    TrimmedMean,
    WeightedAverage,
)

LINEAR = ["uniform", "sizes", "pog", "signed", "server-step"]
RULES = [*LINEAR, "median", "trimmed-mean"]


def make_laws(generator: torch.Generator, clients: int, dimension: int) -> list[DiagonalGaussian]:
    return [
        DiagonalGaussian(normal(generator, dimension), 0.1 + uniform(generator, dimension))
        for _ in range(clients)
    ]


def make_rule(name: str, laws: list[DiagonalGaussian]) -> AggregationRule:
    n = len(laws)
    generator = stream(n, "coefficients")
    match name:
        case "uniform":
            return WeightedAverage.fedavg([1] * n)
        case "sizes":
            return WeightedAverage.fedavg([3 * i + 1 for i in range(n)])
        case "pog":
            return WeightedAverage.product_of_gaussians(laws)
        case "signed":
            return LinearRule(normal(generator, n, laws[0].dimension), normal(generator, laws[0].dimension))
        case "server-step":
            return LinearRule.server_step(normal(generator, laws[0].dimension), 1.7, range(1, n + 1))
        case "median":
            return CoordinateMedian(n)
        case "trimmed-mean":
            return TrimmedMean(n, (n - 1) // 4)


def exact_aggregate(rule: AggregationRule, values: list[torch.Tensor], d: int) -> Fraction:
    """Coordinate d of the aggregate, in rational arithmetic."""
    column = [exact(value[d]) for value in values]
    match rule:
        case CoordinateMedian():
            return statistics.median(column)
        case TrimmedMean():
            return statistics.mean(sorted(column)[rule.trim : len(column) - rule.trim])
        case WeightedAverage():
            return exact_aggregate(rule.linear, values, d)
        case LinearRule():
            weights = rule.weights.expand(-1, len(values[0]))
            offset = 0 if rule.offset is None else exact(rule.offset[d])
            return offset + sum(exact(weights[i, d]) * x for i, x in enumerate(column))


def ends(rule: AggregationRule, boxes: list[Box], d: int) -> tuple[Fraction, Fraction]:
    """The extremes of coordinate d over all corners of the clients' boxes."""
    corners = product(*((box.lower, box.upper) for box in boxes))
    values = [exact_aggregate(rule, list(corner), d) for corner in corners]
    return min(values), max(values)


SETTINGS = {"seed": st.integers(0, 2**32), "clients": st.integers(1, 6), "dimension": st.integers(1, 4)}


@pytest.mark.parametrize("name", RULES)
@given(**SETTINGS)
def test_the_image_is_exact_but_for_outward_rounding(name, seed, clients, dimension) -> None:
    generator = stream(seed, "rules")
    rule = make_rule(name, make_laws(generator, clients, dimension))
    boxes = [Box.around(normal(generator, dimension), uniform(generator, dimension)) for _ in range(clients)]
    image = rule.image(boxes)
    for d in range(dimension):
        low, high = ends(rule, boxes, d)
        assert exact(image.lower[d]) <= low
        assert high <= exact(image.upper[d])
        assert low - exact(image.lower[d]) < 1e-13
        assert exact(image.upper[d]) - high < 1e-13


@pytest.mark.parametrize("name", RULES)
@given(**SETTINGS)
def test_aggregates_of_points_lie_in_the_image(name, seed, clients, dimension) -> None:
    generator = stream(seed, "rules")
    rule = make_rule(name, make_laws(generator, clients, dimension))
    boxes = [Box.around(normal(generator, dimension), uniform(generator, dimension)) for _ in range(clients)]
    image = rule.image(boxes)
    aggregate = rule([random_points(box, 20, generator) for box in boxes])
    assert ((image.lower <= aggregate) & (aggregate <= image.upper)).all()


@pytest.mark.parametrize("name", LINEAR)
@given(**SETTINGS)
def test_the_pushforward_encloses_the_exact_law(name, seed, clients, dimension) -> None:
    generator = stream(seed, "rules")
    laws = make_laws(generator, clients, dimension)
    rule = make_rule(name, laws)
    pushed = rule.pushforward(laws)
    weights = rule.weights.expand(-1, dimension)
    for d in range(dimension):
        loc = exact_aggregate(rule, [law.loc for law in laws], d)
        variance = sum((exact(weights[i, d]) * exact(law.scale[d])) ** 2 for i, law in enumerate(laws))
        assert abs(exact(pushed.loc[d]) - loc) <= exact(pushed.loc_error[d])
        scale, error = exact(pushed.scale[d]), exact(pushed.scale_error)
        assert (scale * (1 - error)) ** 2 <= variance <= (scale * (1 + error)) ** 2


@pytest.mark.parametrize("name", RULES)
def test_only_linear_rules_have_a_closed_form_law(name: str) -> None:
    assert isinstance(make_rule(name, make_laws(stream(0, "rules"), 3, 2)), GaussianRule) == (name in LINEAR)


def test_a_server_step_of_rate_one_is_fedavg_and_of_rate_zero_stays() -> None:
    laws = make_laws(stream(0, "rules"), 3, 4)
    start, locs = normal(stream(1, "start"), 4), [law.loc for law in laws]
    torch.testing.assert_close(
        LinearRule.server_step(start, 1.0, [1, 2, 3])(locs), WeightedAverage.fedavg([1, 2, 3])(locs)
    )
    assert torch.equal(LinearRule.server_step(start, 0.0, [1, 2, 3])(locs), start)


def test_one_far_client_moves_an_average_but_not_a_median() -> None:
    near = [torch.full((2,), float(i), dtype=torch.float64) for i in range(4)]
    far = torch.full((2,), 1e6, dtype=torch.float64)
    assert WeightedAverage.fedavg([1] * 5)([*near, far]).min() > 1e5
    for rule in (CoordinateMedian(5), TrimmedMean(5, 1)):
        assert rule([*near, far]).max() <= 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: TrimmedMean(4, 2),
        lambda: TrimmedMean(3, -1),
        lambda: CoordinateMedian(0),
        lambda: LinearRule(torch.tensor([[math.nan]], dtype=torch.float64)),
        lambda: LinearRule.server_step(torch.zeros(2, dtype=torch.float64), math.inf, [1]),
        lambda: LinearRule.server_step(torch.zeros(2, dtype=torch.float64), 1.0, [0]),
    ],
)
def test_impossible_rules_raise(make) -> None:
    with pytest.raises(InvalidWeights):
        make()


def test_the_pushforward_is_the_law_of_aggregated_samples() -> None:
    generator = stream(0, "rules")
    laws = make_laws(generator, 3, 4)
    for name in LINEAR:
        rule = make_rule(name, laws)
        pushed = rule.pushforward(laws)
        samples = rule([law.sample(40_000, generator) for law in laws])
        standard = (samples - pushed.loc) / pushed.scale
        assert (standard.mean(0).abs() < 0.03).all()
        assert ((standard.std(0) - 1).abs() < 0.03).all()


def test_product_of_gaussians_is_the_normalised_product_of_densities() -> None:
    laws = make_laws(stream(1, "rules"), 3, 5)
    pushed = WeightedAverage.product_of_gaussians(laws).pushforward(laws)
    precision = sum(law.scale**-2 for law in laws)
    torch.testing.assert_close(pushed.scale, precision**-0.5)
    torch.testing.assert_close(pushed.loc, sum(law.loc * law.scale**-2 for law in laws) / precision)


@given(clients=st.integers(1, 8), scale=st.sampled_from([1e-5, 0.3, 1.0]))
def test_fedavg_and_product_of_gaussians_agree_for_equal_scales_and_weights(clients, scale) -> None:
    laws = [law.with_scale(scale) for law in make_laws(stream(clients, "equal"), clients, 5)]
    fedavg = WeightedAverage.fedavg([1] * clients).pushforward(laws)
    pog = WeightedAverage.product_of_gaussians(laws).pushforward(laws)
    assert torch.equal(fedavg.loc, pog.loc)
    assert torch.equal(fedavg.scale, pog.scale)
    mean = sum(law.loc for law in laws) / clients
    torch.testing.assert_close(fedavg.loc, mean)
    torch.testing.assert_close(fedavg.scale, torch.full_like(mean, scale / math.sqrt(clients)))


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.5, -0.5], [math.nan, 1.0], [0.2, 0.2], [math.inf, 0.0]])
def test_weights_that_are_no_average_raise(weights: list[float]) -> None:
    with pytest.raises(InvalidWeights):
        WeightedAverage(torch.tensor(weights, dtype=torch.float64)[:, None])


@pytest.mark.parametrize("sizes", [[], [0, 1], [-1, 2]])
def test_sizes_must_be_positive(sizes: list[int]) -> None:
    with pytest.raises(InvalidWeights):
        WeightedAverage.fedavg(sizes)


def test_clients_must_match_in_number_and_shape() -> None:
    laws = make_laws(stream(0, "rules"), 2, 3)
    odd = make_laws(stream(0, "rules"), 1, 4)
    rule = WeightedAverage.fedavg([1, 1])
    with pytest.raises(ShapeMismatch, match="2 clients was given 3"):
        rule([law.loc for law in (*laws, laws[0])])
    with pytest.raises(ShapeMismatch, match="same network"):
        rule([laws[0].loc, odd[0].loc])
    with pytest.raises(ShapeMismatch, match="same network"):
        rule.pushforward([laws[0], odd[0]])
    with pytest.raises(ShapeMismatch, match="same network"):
        WeightedAverage.product_of_gaussians([laws[0], odd[0]])
