"""Margins of the verifiers, in exact arithmetic at points and corners of their boxes."""

from collections.abc import Iterator, Sequence

import torch
from exact_images import exact_conv2d, exact_mean, windows_of
from flint import arb, ctx
from oracles import random_points
from problems import uniform
from saved_certificates import as_network, as_properties
from torch import Tensor

from fedcert.model.layers import (
    Activation,
    AvgPool2d,
    Conv2d,
    Layer,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
    ResidualSum,
    Sigmoid,
    Tanh,
)
from fedcert.model.network import Network, mlp
from fedcert.model.properties import Properties
from fedcert.numerics.box import Box
from fedcert.verify.interval import IntervalVerifier, MergedIntervalVerifier
from fedcert.verify.linear import LinearVerifier
from fedcert_check.balls import PRECISION, Interval, exact
from fedcert_check.verifier import proven, unflatten
from fuzz.balls import EXACT, balls, below, dot, precision, relu, sharply
from fuzz.hostile import anything, choice, widths
from fuzz.verdicts import Verdict, verdict

BOXES, PROPERTIES, POINTS = 3, 3, 3
VERIFIERS = (IntervalVerifier(), MergedIntervalVerifier(), LinearVerifier())
SHAPES = ((1, 1), (2, 2), (4, 1), (1, 1, 1), (2, 2, 1), (1, 3, 2), (2, 2, 2, 1), (1, 2, 1, 1))


def boxed(generator: torch.Generator, *shape: int) -> Box:
    """Boxes around hostile numbers; ends that overflow stay where they were."""
    center = anything(generator, *shape)
    half = widths(generator, *shape) * center.abs().clamp(max=1e300)
    return Box(center - half, center + half)


def problem(generator: torch.Generator, network: Network | None = None) -> tuple[Network, Box, Properties]:
    """A network whose constraints nearly vanish, half of the time, at a corner of the first box."""
    network = network or mlp(*choice(generator, *SHAPES))
    boxes = boxed(generator, BOXES, network.parameters)
    region = boxed(generator, PROPERTIES, network.inputs)
    C = anything(generator, PROPERTIES, 2, network.outputs)
    values = network(boxes.lower[0], region.lower)
    d = -(C @ values.unsqueeze(-1)).squeeze(-1)
    hides = (uniform(generator, 1) < 0.5) & torch.isfinite(d)
    return network, boxes, Properties(region, C, torch.where(hides, d, anything(generator, *d.shape)))


def forward(network: Network, theta: Tensor, x: Tensor) -> list[arb]:
    """f_θ(x), exactly; where there is a library function or a quotient, with thousands of digits."""
    return exact_chain(
        network.layers, [[balls(own) for own in layer] for layer in network.unflatten(theta)], balls(x)
    )


def exact_chain(layers: Sequence[Layer], parameters: Sequence[list], h: list[arb]) -> list[arb]:
    """Layers one after the other, each with its parameters."""
    for layer, own in zip(layers, parameters, strict=True):
        h = exact_layer(layer, own, h)
    return h


def exact_layer(layer: Layer, parameters: list, h: list[arb]) -> list[arb]:
    match layer:
        case Linear():
            return [dot(row, h) + b for row, b in zip(*parameters, strict=True)]
        case LeakyReLU():
            return [a if a > 0 else arb(layer.slope) * a for a in h]
        case Conv2d():
            return exact_conv2d(layer)(parameters, h)
        case AvgPool2d():
            return [exact_mean(own) for own in windows_of(layer, h)]
        case MaxPool2d():
            return [max(own) for own in windows_of(layer, h)]
        case Tanh():
            return [a.tanh() for a in h]
        case Sigmoid():
            return [(1 + (a / 2).tanh()) / 2 for a in h]
        case ReLU():
            return [relu(a) for a in h]
        case ResidualSum():
            own = iter(parameters)
            ends = [
                exact_chain(chain, [[next(own) for _ in part.shapes] for part in chain], h)
                for chain in (layer.body, layer.shortcut)
            ]
            return [a + b for a, b in zip(*ends, strict=True)]
        case _:
            raise TypeError(f"no exact {layer}")


def least_margins(network: Network, box: Box, properties: Properties, p: int, generator) -> list[arb]:
    """The least of C f_θ(x) + d over some points of the box and the region, exactly."""
    thetas, xs = (
        random_points(box, POINTS, generator),
        random_points(properties.regions[p], POINTS, generator),
    )
    C, d = balls(properties.C[p]), balls(properties.d[p])
    found = []
    for theta, x in zip([box.lower, *thetas], [properties.regions.lower[p], *xs], strict=True):
        values = forward(network, theta, x)
        found.append([sharply(dot(row, values) + own) for row, own in zip(C, d, strict=True)])
    return [min(column, key=lambda value: value.mid()) for column in zip(*found, strict=True)]


def checked(generator: torch.Generator, verifier) -> Iterator[Verdict]:
    """One verdict for each box and property."""
    network, boxes, properties = problem(generator)
    margins = verifier.margins(network, boxes, properties).tolist()
    with precision(EXACT):
        for b in range(BOXES):
            for p in range(PROPERTIES):
                truths = least_margins(network, boxes[b], properties, p, generator)
                sound = all(below(m, t) for m, t in zip(margins[b][p], truths, strict=True))
                yield verdict(sound, f"{network} box {b} property {p}", *margins[b][p])


def interval(generator: torch.Generator) -> Iterator[Verdict]:
    yield from checked(generator, IntervalVerifier())


def merged(generator: torch.Generator) -> Iterator[Verdict]:
    yield from checked(generator, MergedIntervalVerifier())


def leaky(generator: torch.Generator) -> Iterator[Verdict]:
    """Networks with leaky rectifiers; what a verifier proves, the checker proves too."""
    slope = choice(generator, 0.0, 0.01, 0.3, 1.0, uniform(generator, 1).item())
    yield from proved_twice(generator, with_activation(generator, LeakyReLU(slope)))


def tanh(generator: torch.Generator) -> Iterator[Verdict]:
    """Networks with hyperbolic tangents."""
    yield from proved_twice(generator, with_activation(generator, Tanh()))


def sigmoid(generator: torch.Generator) -> Iterator[Verdict]:
    """Networks with logistic functions."""
    yield from proved_twice(generator, with_activation(generator, Sigmoid()))


def with_activation(generator: torch.Generator, activation: Activation) -> Network:
    layers = mlp(*choice(generator, *SHAPES)).layers
    return Network(tuple(layer if isinstance(layer, Linear) else activation for layer in layers))


def proved_twice(generator: torch.Generator, network: Network) -> Iterator[Verdict]:
    """One verdict for each box and property: a verifier's margins, and the checker's proof of them."""
    network, boxes, properties = problem(generator, network)
    verifier = choice(generator, *VERIFIERS[: 2 if network.layers[-1].nonlinear else 3])
    margins = verifier.margins(network, boxes, properties)
    for b in range(BOXES):
        with ctx.workprec(PRECISION):
            ends = Interval(exact(boxes.lower[b].numpy()), exact(boxes.upper[b].numpy()))
            steps = unflatten(as_network(network), ends)
            proved = [proven(steps, as_properties(properties), p) for p in range(PROPERTIES)]
        with precision(EXACT):
            for p in range(PROPERTIES):
                truths, found = least_margins(network, boxes[b], properties, p, generator), margins[b, p]
                sound = all(below(m, t) for m, t in zip(found.tolist(), truths, strict=True))
                sound = sound and not (proved[p] and any(bool(t < 0) for t in truths))
                claimed = bool(((found >= 0) & found.isfinite()).all())
                what = f"{verifier} {network} box {b} property {p}: {found.tolist()}"
                yield Verdict(sound, bool(found.isfinite().all()), what, proved[p] or not claimed)


def linear(generator: torch.Generator) -> Iterator[Verdict]:
    yield from checked(generator, LinearVerifier())
