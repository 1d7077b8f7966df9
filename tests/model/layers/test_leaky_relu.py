"""The leaky rectifier: enclosures without tolerance, against torch's own module."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import exact
from problems import normal, vector
from torch import nn

from fedcert.errors import UnsupportedLayer
from fedcert.families.projected.layers import random_layers
from fedcert.laws import DiagonalGaussian
from fedcert.model.from_torch import from_torch
from fedcert.model.layers import LeakyReLU, Linear, ReLU
from fedcert.model.layers.registry import read_layer
from fedcert.model.network import Network
from fedcert.numerics.interval import Bounds
from fedcert.randomness import stream

SLOPES = st.one_of(st.sampled_from([0.0, 1e-300, 0.01, 0.1, 0.25, 1 / 3, 1.0]), st.floats(0, 1))


@given(SLOPES, st.integers(0, 2**32), st.sampled_from([5e-324, 1e-300, 1.0, 1e150]))
def test_torch_stays_within_the_bounds_and_the_exact_function_too(
    slope: float, seed: int, size: float
) -> None:
    layer, module = LeakyReLU(slope), nn.LeakyReLU(slope)
    x = size * normal(stream(seed, "leaky"), 40)
    bounds = layer.interval((), Bounds(x, x))
    assert ((bounds.lower <= module(x)) & (module(x) <= bounds.upper)).all()
    assert torch.equal(layer((), x.unsqueeze(0)), module(x).unsqueeze(0))
    for a, low, high in zip(x.tolist(), *(end.tolist() for end in bounds), strict=True):
        assert exact(low) <= max(exact(a), exact(slope) * exact(a)) <= exact(high)
        assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


@given(SLOPES, st.integers(0, 2**32), st.sampled_from([1e-300, 1e-20, 1.0, 1e150]))
def test_lines_lie_around_the_function_in_rational_arithmetic(slope: float, seed: int, size: float) -> None:
    ends = size * normal(stream(seed, "leaky lines"), 2, 20)
    low, high = ends.amin(0), ends.amax(0)
    lines = LeakyReLU(slope).lines(Bounds(low, high))
    assert lines.below.height is not None
    assert lines.above.height is not None
    columns = (low, high, lines.below.slope, lines.below.height, lines.above.slope, lines.above.height)
    for l, u, b, c, s, t in zip(*(column.tolist() for column in columns), strict=True):  # noqa: E741
        for a in (exact(l), exact(u), min(max(exact(0), exact(l)), exact(u)), (exact(l) + exact(u)) / 2):
            value = max(a, exact(slope) * a)
            assert exact(b) * a + exact(c) <= value <= exact(s) * a + exact(t)


def test_with_slope_zero_it_is_a_rectifier() -> None:
    x = Bounds(vector(-2, -1, 1, -3), vector(-1, 2, 3, 1))
    leaky, plain = LeakyReLU(0.0), ReLU()
    for own, other in zip(leaky.interval((), x), plain.interval((), x), strict=True):
        assert torch.equal(own, other)
    assert torch.equal(leaky.lines(x).below.slope, plain.lines(x).below.slope)
    assert torch.equal(leaky.lines(x).above.slope, plain.lines(x).above.slope)


@pytest.mark.parametrize("slope", [-0.01, 1.01, math.nan, math.inf])
def test_other_slopes_are_refused_by_name(slope: float) -> None:
    with pytest.raises(UnsupportedLayer, match=f"LeakyReLU of slope {slope}"):
        LeakyReLU(slope)
    with pytest.raises(UnsupportedLayer, match="LeakyReLU"):
        from_torch(nn.Sequential(nn.Linear(1, 1), nn.LeakyReLU(slope)))


def test_it_is_read_from_torch_and_from_its_description() -> None:
    network = from_torch(nn.Sequential(nn.Linear(3, 2), nn.LeakyReLU(), nn.Linear(2, 1)))
    assert network.layers == (Linear(3, 2), LeakyReLU(0.01), Linear(2, 1))
    assert LeakyReLU(0.2).describe() == {"type": "leaky-relu", "slope": 0.2}
    assert read_layer({"type": "leaky-relu", "slope": 0.2}) == LeakyReLU(0.2)


def test_projected_events_refuse_it_by_name() -> None:
    network = Network((Linear(1, 1), LeakyReLU(0.1), Linear(1, 1)))
    law = DiagonalGaussian(torch.zeros(4).double(), torch.ones(4).double())
    with pytest.raises(UnsupportedLayer, match=r"LeakyReLU\(slope=0.1\)"):
        random_layers(network, law)
