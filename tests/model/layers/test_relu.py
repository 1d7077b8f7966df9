import pytest
import torch
from oracles import exact
from problems import vector

from fedcert.model.layers import ReLU
from fedcert.numerics.interval import Bounds


def test_intervals_are_exact() -> None:
    found = ReLU().interval((), Bounds(vector(-2, -1, 1, 0), vector(-1, 2, 3, 0)))
    assert torch.equal(found.lower, vector(0, 0, 1, 0))
    assert torch.equal(found.upper, vector(0, 2, 3, 0))


@pytest.mark.parametrize(
    ("low", "high", "below", "slope", "height"),
    [(1, 2, 1, 1, 0), (-2, -1, 0, 0, 0), (-1, 3, 1, 0.75, 0.75), (-3, 1, 0, 0.25, 0.75), (0, 0, 1, 1, 0)],
)
def test_lines_are_the_chord_and_the_closer_side(
    low: float, high: float, below: float, slope: float, height: float
) -> None:
    lines = ReLU().lines(Bounds(vector(low), vector(high)))
    assert lines.below.height is None
    assert (lines.below.slope.item(), lines.above.slope.item()) == (below, slope)
    assert height <= lines.above.height.item() <= height + 1e-15


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1.0, 1e150])
def test_the_line_above_is_above_at_both_ends_in_rational_arithmetic(scale: float) -> None:
    generator = torch.Generator().manual_seed(0)
    ends = scale * torch.rand(2, 500, generator=generator, dtype=torch.float64)
    lines = ReLU().lines(Bounds(-ends[0], ends[1]))
    for low, high, s, t in zip(-ends[0], ends[1], lines.above.slope, lines.above.height, strict=True):
        assert exact(s) * exact(low) + exact(t) >= 0
        assert exact(s) * exact(high) + exact(t) >= exact(high)
        assert exact(t) >= 0
