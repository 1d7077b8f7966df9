"""The contract of layers notices what breaks it."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from fuzz.balls import relu
from layer_contract import check_data, check_layer

from fedcert.model.layers import Line, Lines, ReLU, Rising, register_layer
from fedcert.numerics.interval import Bounds
from fedcert.randomness import stream

pytestmark = pytest.mark.usefixtures("forget_layers")


def narrow_interval(self, parameters, x):
    return Bounds(x.lower.clamp(min=0.0), torch.nextafter(x.upper, x.lower).clamp(min=0.0))


def decided_overflow(self, parameters, x):
    return Bounds(x.lower.clamp(min=0.0).nan_to_num(0.0), x.upper.clamp(min=0.0).nan_to_num(1.0))


def wide_interval(self, parameters, x):
    return Bounds(x.lower.clamp(min=0.0), x.upper.clamp(min=0.0) + 1)


def low_chord(self, x):
    low, high = x
    slope = (high.clamp(min=0) - low.clamp(min=0)) / (high - low).clamp(min=1e-300)
    return Lines(Line(torch.zeros_like(low)), Line(slope, torch.zeros_like(low)))


def steep_below(self, x):
    lines = ReLU().lines(x)
    return Lines(Line(torch.ones_like(x.lower), torch.zeros_like(x.lower) + 1e-200), lines.above)


def wide_lines(self, x):
    lines = ReLU().lines(x)
    return Lines(lines.below, Line(lines.above.slope, lines.above.height + 1))


def half_radius(self, parameters, centre, radius):
    return centre.clamp(min=0.0), radius / 2


BROKEN: dict[str, dict[str, Callable]] = {
    "interval too narrow by a float": {"interval": narrow_interval},
    "interval of what overflowed": {"interval": decided_overflow},
    "interval that does not close on a point": {"interval": wide_interval},
    "line above that cuts": {"lines": low_chord},
    "line below that is too high by 1e-200": {"lines": steep_below},
    "line that does not close on a point": {"lines": wide_lines},
    "points": {"points": half_radius},
    "another function": {"__call__": lambda self, parameters, x: x.abs()},
    "description of another layer": {"describe": lambda self: {"type": "relu"}},
    "parameters that nothing reads": {"initialise": lambda self, generator: torch.zeros(1)},
}


def layer(**methods: Callable) -> ReLU:
    @dataclass(frozen=True)
    class Broken(ReLU):
        name = "broken"
        modules = ()

    for name, method in methods.items():
        setattr(Broken, name, method)
    return register_layer(Broken)()


@pytest.mark.slow
@pytest.mark.parametrize("methods", BROKEN.values(), ids=BROKEN)
def test_a_broken_layer_is_noticed(methods: dict[str, Callable]) -> None:
    with pytest.raises(AssertionError):
        check_layer(layer(**methods), stream(0, "broken"), lambda parameters, x: [relu(a) for a in x])


def test_what_a_class_lacks_is_said() -> None:
    @dataclass
    class Changeable(Rising):
        name = "changeable"
        __call__, interval, lines = ReLU.__call__, ReLU.interval, ReLU.lines

    with pytest.raises(AssertionError, match="register the class with @register_layer: Changeable"):
        check_data(Changeable())
    with pytest.raises(AssertionError, match="a frozen dataclass"):
        check_data(register_layer(Changeable)())


@pytest.mark.slow
def test_one_that_is_whole_passes() -> None:
    check_layer(layer(), stream(0, "broken"), lambda parameters, x: [relu(a) for a in x])
