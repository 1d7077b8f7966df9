import math

import pytest
import torch

from fedcert.families.mean_box.events import MeanBox
from fedcert.families.mean_box.measures import identity, measures
from fedcert.families.mean_box.nested import NestedBoxes
from fedcert.laws import DiagonalGaussian
from fedcert.model.network import mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.verify import Safe
from fedcert.verify.interval import IntervalVerifier


class Counting(IntervalVerifier):
    """Counts the pairs of boxes and properties that it is asked about."""

    def __call__(self, network, boxes, properties):  # type: ignore[no-untyped-def]
        asked.append(len(boxes) * properties.C.shape[-3])
        return super().__call__(network, boxes, properties)


asked: list[int] = []


def family(*thresholds: float, dimension: int = 2, log_cost: torch.Tensor | None = None) -> NestedBoxes:
    """Networks w·x + b with b ~ N(0, 1) at x = 0: the box ± r is safe where r ≤ −t."""
    asked.clear()
    count = len(thresholds)
    one = torch.ones(count, 1, dtype=torch.float64)
    regions = Box.point(torch.zeros(count, dimension - 1, dtype=torch.float64))
    offset = -torch.tensor(thresholds, dtype=torch.float64)[:, None]
    safe = Safe(mlp(dimension - 1, 1), Properties(regions, one[:, None], offset), Counting())
    law = DiagonalGaussian(torch.zeros(dimension).double(), torch.ones(dimension).double())
    (measure,) = measures([law], identity("fedavg", law))
    costs = torch.zeros(1, 1, dtype=torch.float64) if log_cost is None else log_cost
    return NestedBoxes(measure, safe, MeanBox(), costs)


@pytest.mark.parametrize("dimension", [2, 1000])
def test_the_largest_box_reaches_the_boundary(dimension: int) -> None:
    thresholds = (-9.0, -6.0, -4.5, -4.0)
    found = family(*thresholds, dimension=dimension)
    prices = found.largest()
    for p, t in enumerate(thresholds):
        radius = found.radius(prices, p).item()
        assert radius <= min(8.0, -t)
        exact = (1 - math.erfc(min(8.0, -t) / math.sqrt(2))) ** dimension
        assert found.mass(prices)[p].item() == pytest.approx(exact, abs=0.004 * dimension * 1e-3 + 1e-4)
        assert found.mass(prices)[p] <= exact


def test_costs_of_each_property_shape_its_box() -> None:
    costs = torch.tensor([[-20.0, 0.0], [0.0, -20.0]], dtype=torch.float64)
    found = family(-2.0, -2.0, log_cost=costs)
    prices = found.largest()
    cheap, dear = found.radius(prices, 0).tolist()
    assert cheap > 6.0
    assert dear == pytest.approx(2.0, abs=2e-3)
    assert found.radius(prices, 1)[1] <= 2.0


def test_what_is_proven_at_once_or_never_is_not_asked_about_again() -> None:
    found = family(*[-9.0] * 30, *[1.0] * 20)
    prices = found.largest()
    assert asked == [50, 20]
    assert torch.isfinite(prices).tolist() == [True] * 30 + [False] * 20
    assert found.mass(prices).tolist() == [pytest.approx(1.0)] * 30 + [0.0] * 20


def test_boxes_of_negligible_mass_are_not_searched() -> None:
    """With 10,000 parameters a radius of 2 leaves a mass of e^-466."""
    found = family(-2.0, dimension=10_000)
    assert found.mass(found.largest()).item() == 0.0
    assert asked == [1, 1]


def test_the_search_ends_when_little_is_to_be_gained() -> None:
    found = family(-7.0)
    mass = found.mass(found.largest()).item()
    assert mass > 1 - 1e-4
    assert len(asked) <= 5
