import math

import pytest
import torch

from fedcert.errors import InvalidBox
from fedcert.numerics.box import Box, overlap


def box(low: list[float], high: list[float]) -> Box:
    return Box(torch.tensor(low, dtype=torch.float64), torch.tensor(high, dtype=torch.float64))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([1.0], [0.0]),
        ([math.nan], [1.0]),
        ([0.0], [math.nan]),
        ([-math.inf], [0.0]),
        ([0.0], [math.inf]),
        ([0.0], [1.0, 2.0]),
    ],
)
def test_a_box_that_is_no_box_raises(low: list[float], high: list[float]) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - shapes may be refused by the type first
        box(low, high)
    assert isinstance(caught.value, InvalidBox) or "shape" in str(caught.value)


def test_around_and_point() -> None:
    center = torch.tensor([[1.0, -2.0]], dtype=torch.float64)
    assert torch.equal(Box.around(center, 0.5).lower, center - 0.5)
    assert torch.equal(Box.point(center).upper, center)
    assert Box.around(center, torch.tensor([0.1, 0.2], dtype=torch.float64)).shape == (1, 2)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (([0.5, 0.5], [2.0, 2.0]), True),
        (([1.0, 0.0], [2.0, 1.0]), False),  # a shared face has no mass
        (([2.0, 0.0], [3.0, 1.0]), False),
        (([-1.0, -1.0], [2.0, 2.0]), True),
        (([0.2, 0.2], [0.3, 0.3]), True),
    ],
)
def test_overlap_is_symmetric_and_ignores_faces(other, expected: bool) -> None:
    unit, second = box([0.0, 0.0], [1.0, 1.0]), box(*other)
    assert bool(overlap(unit, second)) is expected
    assert bool(overlap(second, unit)) is expected


def test_overlap_is_batched() -> None:
    unit = box([0.0], [1.0])
    others = Box.stack([box([0.5], [2.0]), box([1.5], [2.0])])
    assert overlap(unit, others).tolist() == [True, False]
    assert overlap(unit, others[:0]).shape == (0,)
