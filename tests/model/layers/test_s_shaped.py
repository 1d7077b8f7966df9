"""tanh and the logistic function: bounds and lines in ball arithmetic, without tolerance."""

import math

import pytest
import torch
from flint import arb
from fuzz.balls import balls, precision
from problems import normal, vector
from torch import nn

from fedcert.model.from_torch import from_torch
from fedcert.model.layers import Sigmoid, Tanh
from fedcert.model.network import Linear, Network
from fedcert.numerics.interval import Bounds
from fedcert.randomness import stream

SIZES = [1e-320, 1e-160, 1e-9, 1.0, 30.0, 1e5, 1e7, 1e300]


LAYERS = [Tanh(), Sigmoid()]


def exact(layer: Tanh | Sigmoid, x: arb) -> arb:
    return x.tanh() if isinstance(layer, Tanh) else 1 / (1 + (-x).exp())


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("size", SIZES)
def test_torch_and_the_exact_function_stay_within_the_bounds(layer: Tanh | Sigmoid, size: float) -> None:
    x = size * normal(stream(0, "values"), 200)
    low, high = layer.interval((), Bounds(x, x))
    y = torch.tanh(x) if isinstance(layer, Tanh) else torch.sigmoid(x)
    assert ((low <= y) & (y <= high)).all()
    with precision(400):
        for a, least, most in zip(balls(x), balls(low), balls(high), strict=True):
            assert not exact(layer, a) < least
            assert not exact(layer, a) > most


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("size", SIZES)
def test_lines_lie_around_the_function(layer: Tanh | Sigmoid, size: float) -> None:
    """At both ends and 64 points between them, and around the middle, in ball arithmetic."""
    low, high = (size * normal(stream(1, "lines"), 2, 60)).sort(dim=0).values
    lines = layer.lines(Bounds(low, high))
    parts = (low, high, lines.below.slope, lines.below.height, lines.above.slope, lines.above.height)
    with precision(400):
        for l, u, b, c, s, t in zip(*map(balls, parts), strict=True):  # noqa: E741
            points = [l + (u - l) * k / 64 for k in range(65)]
            points += [x for x in (arb(k) / 4 for k in range(-40, 41)) if l <= x <= u]
            for a in points:
                assert not b * a + c > exact(layer, a)
                assert not s * a + t < exact(layer, a)


@pytest.mark.parametrize("layer", LAYERS)
def test_lines_are_close_where_bounds_are(layer: Tanh | Sigmoid) -> None:
    """The distance between the lines falls with the square of the width of the bounds."""
    middle = torch.linspace(-4, 4, 33, dtype=torch.float64)
    gaps = []
    for half in (1e-2, 1e-3, 1e-4):
        lines = layer.lines(Bounds(middle - half, middle + half))
        above = lines.above.slope * middle + lines.above.height
        gaps.append((above - lines.below.slope * middle - lines.below.height).max().item())
    assert gaps[0] < 2e-4
    assert gaps[1] < gaps[0] / 50
    assert gaps[2] < gaps[1] / 50


@pytest.mark.parametrize("layer", LAYERS)
def test_beyond_all_numbers_nothing_is_claimed_but_the_range(layer: Tanh | Sigmoid) -> None:
    nothing = vector(math.nan, -math.inf, -math.inf)
    low, high = layer.interval((), Bounds(nothing, vector(math.nan, math.inf, -math.inf)))
    assert low.isnan().tolist() == high.isnan().tolist() == [True, False, False]
    assert low[1].item() == (-1.0 if isinstance(layer, Tanh) else 0.0)
    assert high[1].item() == 1.0


@pytest.mark.parametrize(("layer", "module"), [(Tanh(), nn.Tanh()), (Sigmoid(), nn.Sigmoid())])
def test_it_is_read_from_torch_and_from_its_description(layer: Tanh | Sigmoid, module: nn.Module) -> None:
    network = from_torch(nn.Sequential(nn.Linear(3, 2), module, nn.Linear(2, 1)))
    assert network == Network((Linear(3, 2), layer, Linear(2, 1)))
    assert Network.from_description(network.describe()) == network
