"""What every layer promises, checked on random and awkward numbers, for layers of the package and of others.

    check_layer(layer, generator, exact, module)

runs a layer through all of it; `exact` is the layer's map in ball arithmetic, which nothing rounds. Bounds
are compared with it at sampled parameters and inputs, without tolerance.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass

import torch
from flint import arb
from fuzz.balls import EXACT, above, balls, below, dot, precision
from oracles import random_points
from problems import normal, uniform
from torch import Tensor, nn

from fedcert.model.layers import Layer
from fedcert.model.layers.registry import layer_of_module, read_layer, registered_layers
from fedcert.numerics.backward import LinearBound
from fedcert.numerics.box import Box
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import rounding_error

Exact = Callable[[list, list[arb]], list[arb]]
"""Parameters, nested as their axes are, and one input: one output, in ball arithmetic."""

BOXES, REGIONS, SAMPLES, ANY_WIDTH = 2, 2, 3, 3
MAGNITUDES, RADII = (1e-160, 1e-3, 1.0, 1e6), (0.0, 1e-9, 0.3, 3.0)


@dataclass(frozen=True)
class Case:
    """Bounds of parameters, of shapes (B, …), and of inputs, of shape (P, k) or (B, P, k)."""

    layer: Layer
    parameters: tuple[Bounds, ...]
    x: Bounds

    def samples(self, generator: torch.Generator, exact: Exact) -> Iterator[tuple[int, int, list, list]]:
        """Box b, region p, an input within bounds and the exact output for parameters within bounds."""
        x = Bounds(*(end.expand(BOXES, REGIONS, -1) for end in self.x))
        for b in range(BOXES):
            for p in range(REGIONS):
                for _ in range(SAMPLES):
                    theta = [_point(Bounds(own.lower[b], own.upper[b]), generator) for own in self.parameters]
                    at = balls(_point(Bounds(x.lower[b, p], x.upper[b, p]), generator))
                    yield b, p, at, exact([balls(own) for own in theta], at)


def check_layer(
    layer: Layer, generator: torch.Generator, exact: Exact, module: nn.Module | None = None
) -> None:
    """Run a layer through all that `Layer` promises.

    Args:
        layer: the layer.
        generator: of the random numbers.
        exact: the layer in ball arithmetic.
        module: a torch module that is read as this layer; needed where the layer names any.
    """
    check_data(layer)
    check_forward(layer, generator)
    with precision(EXACT):
        for case in cases(layer, generator):
            check_interval(case, generator, exact)
            check_backward(case, generator, exact)
        for case in overflowing(layer, generator):
            check_interval(case, generator, exact, finite=False)
            check_backward(case, generator, exact)
    check_point_box(layer, generator)
    check_points(layer, generator)
    assert module is None or layer.modules, "a torch module was given, but the layer names none in `modules`"
    assert module is not None or not layer.modules, "give the torch module that is read as this layer, too"
    if module is not None:
        check_module(layer, module, generator)


def cases(layer: Layer, generator: torch.Generator) -> Iterator[Case]:
    """Parameters and inputs of several magnitudes, as points, narrow and wide, of both signs and of one."""
    for magnitude in MAGNITUDES:
        for radius in RADII:
            for non_negative in (False, True):
                x = around(generator, magnitude, radius, REGIONS, width(layer))
                if non_negative:
                    x = Bounds(x.lower.clamp(min=0.0), x.upper.clamp(min=0.0))
                if uniform(generator, 1) < 0.5:
                    x = Bounds(*(end.repeat(BOXES, 1, 1) for end in x))
                yield Case(layer, _parameters(layer, generator, magnitude, radius), x)


def overflowing(layer: Layer, generator: torch.Generator) -> Iterator[Case]:
    """An input of which nothing is known, as after an overflow: no claim may rest on it."""
    for low, high in ((math.nan, math.nan), (-math.inf, math.inf), (math.nan, 1.0), (-1.0, math.inf)):
        x = around(generator, 1.0, 0.3, REGIONS, width(layer))
        x.lower[:, 0], x.upper[:, 0] = low, high
        yield Case(layer, _parameters(layer, generator, 1.0, 0.3), x)


def check_data(layer: Layer) -> None:
    """A registered frozen dataclass that a file holds."""
    kind = type(layer).__name__
    assert isinstance(layer, Layer), f"{kind} lacks some of the methods of fedcert.model.layers.Layer"
    assert type(layer) in registered_layers(), f"register the class with @register_layer: {kind}"
    assert _is_frozen(layer), f"the layer must be a frozen dataclass: @dataclass(frozen=True) above {kind}"
    description = json.loads(json.dumps(layer.describe()))
    assert description["type"] == layer.name, f"describe: the type must be the layer's name, {layer.name!r}"
    again = read_layer(description)
    assert again == layer, f"from_description makes {again} of what describe says of {layer}"
    assert hash(again) == hash(layer)


def check_forward(layer: Layer, generator: torch.Generator) -> None:
    """Shapes, batches and initial parameters."""
    size = sum(math.prod(shape) for shape in layer.shapes)
    first, second = (layer.initialise(torch.Generator().manual_seed(7)) for _ in range(2))
    assert first.shape == (size,)
    assert torch.equal(first, second)
    parameters = [normal(generator, BOXES, *shape) for shape in layer.shapes]
    x = normal(generator, 5, width(layer))
    together = layer(parameters, x)
    outputs = math.prod(layer.output_shape((width(layer),)))
    assert together.shape == ((BOXES, 5, outputs) if parameters else (5, outputs))
    for b in range(BOXES if parameters else 0):
        torch.testing.assert_close(layer([own[b] for own in parameters], x), together[b])
    if layer.inputs is None:
        assert layer.output_shape((2, 3)) == (2, 3)


def check_interval(case: Case, generator: torch.Generator, exact: Exact, finite: bool = True) -> None:
    """Every output lies within the bounds, which are finite unless the inputs' are not."""
    bounds = case.layer.interval(case.parameters, case.x)
    lower, upper = (end.expand(BOXES, REGIONS, -1) for end in bounds)
    assert not finite or (lower.isfinite().all() and upper.isfinite().all())
    for b, p, _, values in case.samples(generator, exact):
        for low, high, value in zip(lower[b, p].tolist(), upper[b, p].tolist(), values, strict=True):
            assert below(low, value), f"interval: {low} for {value}, use down: {case}"
            assert above(high, value), f"interval: {high} for {value}, use up: {case}"


def check_backward(case: Case, generator: torch.Generator, exact: Exact) -> None:
    """Units, their negatives and other rows of the outputs are never less than their linear lower bounds."""
    outputs = math.prod(case.layer.output_shape((width(case.layer),)))
    unit = torch.eye(outputs, dtype=torch.float64)
    rows = torch.cat([unit, -unit, normal(generator, 2, outputs)]).expand(BOXES, REGIONS, -1, -1)
    bound = case.layer.backward(case.parameters, case.x, LinearBound.of(rows))
    least, settled = bound.least(case.x), bound.settled(case.x)
    error = rounding_error(settled.roundings, settled.magnitude)
    for b, p, at, values in case.samples(generator, exact):
        for r, row in enumerate(balls(rows[b, p])):
            value = dot(row, values)
            side = "below" if row[r % outputs] > 0 else "above"
            wrong = f"lines: not {side} the function at row {r}: is a kink missing? {case}"
            assert below(least[b, p, r].item(), value), wrong
            numbers = (settled.coefficients[b, p, r], settled.constant[b, p, r], error[b, p, r])
            if all(number.isfinite().all() for number in numbers):
                a, constant, lost = (balls(number) for number in numbers)
                assert dot(a, at) + constant - lost <= value, wrong


def check_point_box(layer: Layer, generator: torch.Generator) -> None:
    """At a point, bounds are the forward pass, but for the roundings that are charged."""
    parameters = [normal(generator, BOXES, *shape) for shape in layer.shapes]
    x = normal(generator, REGIONS, width(layer))
    values = layer(parameters, x).expand(BOXES, REGIONS, -1)
    ends, at = [Bounds(own, own) for own in parameters], Bounds(x, x)
    lower, upper = layer.interval(ends, at)
    assert ((lower <= values) & (values <= upper)).all(), "interval: at a point, not around the forward pass"
    rows = torch.eye(values.shape[-1], dtype=torch.float64).expand(BOXES, REGIONS, -1, -1)
    from_below = layer.backward(ends, at, LinearBound.of(rows)).least(at)
    from_above = -layer.backward(ends, at, LinearBound.of(-rows)).least(at)
    assert ((from_below <= values) & (values <= from_above)).all()
    for found in (lower, upper, from_below, from_above):
        torch.testing.assert_close(found.expand_as(values), values, rtol=1e-9, atol=1e-9)


def check_points(layer: Layer, generator: torch.Generator) -> None:
    """Centre and radius are those of the interval bounds of a single network, but for rounding."""
    parameters = [normal(generator, BOXES, *shape) for shape in layer.shapes]
    centre, radius = normal(generator, REGIONS, width(layer)), uniform(generator, REGIONS, width(layer))
    bounds = layer.interval(
        [Bounds(own, own) for own in parameters], Bounds(centre - radius, centre + radius)
    )
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
        middle, half = layer.points([own.to(dtype) for own in parameters], centre.to(dtype), radius.to(dtype))
        assert middle.dtype == half.dtype == dtype
        for found, end in ((middle - half, bounds.lower), (middle + half, bounds.upper)):
            torch.testing.assert_close(found.double(), end, rtol=tolerance, atol=tolerance)


def check_module(layer: Layer, module: nn.Module, generator: torch.Generator) -> None:
    """A torch module is read as the layer that computes the same."""
    module, shape = module.double(), getattr(layer, "image", None)
    assert layer_of_module(module, shape) == layer
    parameters = [own.detach() for own in module.parameters()]
    assert [tuple(own.shape) for own in parameters] == list(layer.shapes)
    x = 2 * normal(generator, 7, width(layer))
    expected = module(x if shape is None else x.unflatten(-1, shape)).detach()
    assert layer.output_shape((width(layer),)) == tuple(expected.shape[1:])
    torch.testing.assert_close(layer(parameters, x), expected.flatten(1))


def width(layer: Layer) -> int:
    """The length of an input; a few where any will do."""
    return ANY_WIDTH if layer.inputs is None else layer.inputs


def around(generator: torch.Generator, magnitude: float, radius: float, *shape: int) -> Bounds:
    """Bounds around random numbers of a magnitude."""
    center = magnitude * normal(generator, *shape)
    half = radius * magnitude * uniform(generator, *shape)
    return Bounds(center - half, center + half)


def _parameters(
    layer: Layer, generator: torch.Generator, magnitude: float, radius: float
) -> tuple[Bounds, ...]:
    return tuple(around(generator, magnitude, radius, BOXES, *shape) for shape in layer.shapes)


def _is_frozen(layer: Layer) -> bool:
    """Whether a layer is a dataclass that refuses to be changed."""
    return is_dataclass(layer) and layer.__dataclass_params__.frozen


def _point(bounds: Bounds, generator: torch.Generator) -> Tensor:
    """A point within bounds; where they are not finite, any number."""
    anything = 1e3 * normal(generator, *bounds.lower.shape)
    lower = torch.where(
        bounds.lower.isfinite(), bounds.lower, torch.minimum(anything, bounds.upper.nan_to_num(1e3))
    )
    upper = torch.where(bounds.upper.isfinite(), bounds.upper, torch.maximum(anything, lower))
    return random_points(Box(lower, upper), 1, generator)[0]
