"""What activations share; each is run through the whole contract in test_protocol.py."""

from dataclasses import dataclass

import pytest
import torch
from flint import arb
from fuzz.balls import relu
from layer_contract import check_layer
from problems import normal, vector
from torch import nn

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers import Activation, Line, Lines, monotone_points, register_layer
from fedcert.model.layers.activation import through_lines
from fedcert.numerics.backward import LinearBound
from fedcert.numerics.interval import Bounds
from fedcert.randomness import stream

pytestmark = pytest.mark.usefixtures("forget_layers")


@dataclass(frozen=True)
class Leaky(Activation):
    """A power of two as slope, so that products with it are exact."""

    slope: float
    name = "leaky"

    def __call__(self, parameters, x):
        return torch.where(x > 0, x, self.slope * x)

    def interval(self, parameters, x):
        return Bounds(self((), x.lower), self((), x.upper))

    def lines(self, x):
        kink = torch.clamp(torch.zeros_like(x.lower), *x)
        corners = [(a, Bounds(self((), a), self((), a))) for a in (*x, kink)]
        slope = torch.where(
            x.lower < x.upper, (self((), x.upper) - self((), x.lower)) / (x.upper - x.lower), 1.0
        )
        return Lines.touching(slope, slope, corners)

    def points(self, parameters, centre, radius):
        return monotone_points(lambda a: self(parameters, a), centre, radius)


def exact_leaky(parameters: list, x: list[arb]) -> list[arb]:
    return [relu(a) - relu(-a) / 4 for a in x]


@pytest.mark.slow
def test_an_activation_with_a_field_keeps_the_contract_and_is_described_with_it() -> None:
    layer = register_layer(Leaky)(0.25)
    assert layer.describe() == {"type": "leaky", "slope": 0.25}
    check_layer(layer, stream(0, "leaky"), exact_leaky)


def test_no_torch_module_is_read_unless_the_layer_says_how() -> None:
    with pytest.raises(UnsupportedLayer, match="Leaky names LeakyReLU in `modules`"):
        Leaky.from_module(nn.LeakyReLU(), None)


def test_an_activation_without_lines_cannot_be_made() -> None:
    @dataclass(frozen=True)
    class Unbounded(Activation):
        name = "unbounded"

        def __call__(self, parameters, x):
            return x.square()

    with pytest.raises(TypeError, match="abstract"):
        Unbounded()


def test_each_sign_of_a_coefficient_takes_its_line() -> None:
    x = Bounds(vector(-1.0, -1.0).unsqueeze(0), vector(1.0, 1.0).unsqueeze(0))
    below, above = (
        Line(vector(*slopes).unsqueeze(0), vector(*heights).unsqueeze(0))
        for slopes, heights in (((0.5, 0.25), (-1.0, -2.0)), ((2.0, 4.0), (3.0, 5.0)))
    )
    bound = LinearBound.of(vector(2.0, -3.0).view(1, 1, 1, 2))
    found = through_lines(Lines(below, above), x, bound)
    assert found.coefficients.flatten().tolist() == [1.0, -12.0]
    assert found.constant.item() == 2 * -1 - 3 * 5
    assert found.magnitude.item() == 2 * (1 + 0.5) + 3 * (5 + 4)
    assert found.roundings == bound.roundings + 2 + 5


def test_lines_of_slope_0_or_1_through_the_origin_cost_nothing() -> None:
    x = Bounds(vector(-1.0).unsqueeze(0), vector(1.0).unsqueeze(0))
    exact = Line(torch.ones(1, 1, dtype=torch.float64))
    found = through_lines(Lines(exact, exact), x, LinearBound.of(vector(0.3).view(1, 1, 1, 1)))
    assert found.coefficients.item() == 0.3
    assert found.constant.item() == 0
    assert found.magnitude.item() == 2.0**-1022


@pytest.mark.parametrize("slope", [0.5, -1.0, 2.0**-1074, torch.nan])
def test_a_line_of_another_slope_needs_a_height(slope: float) -> None:
    with pytest.raises(ValueError, match="slope 0 or 1"):
        Line(vector(0.0, 1.0, slope))


def test_ends_become_centre_and_radius() -> None:
    centre, radius = normal(stream(1, "points"), 2, 7), 0.5
    middle, half = monotone_points(torch.tanh, centre, torch.full_like(centre, radius))
    torch.testing.assert_close(middle - half, torch.tanh(centre - radius))
    torch.testing.assert_close(middle + half, torch.tanh(centre + radius))
