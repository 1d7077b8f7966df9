"""Networks with residual additions: margins in exact arithmetic, and what a verifier proves proved again."""

from collections.abc import Iterator

import torch

from fedcert.model.layers import (
    AvgPool2d,
    Conv2d,
    Layer,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
    ResidualSum,
    Tanh,
)
from fedcert.model.network import Network
from fuzz.hostile import choice
from fuzz.networks import proved_twice
from fuzz.verdicts import Verdict


def vectors(generator: torch.Generator) -> Iterator[Verdict]:
    """One or two additions among fully connected layers, with and without layers in the shortcut."""
    width = choice(generator, 1, 2, 3)
    layers: list[Layer] = [Linear(choice(generator, 1, 2), width)] if choice(generator, True, False) else []
    for _ in range(choice(generator, 1, 2)):
        addition, width = _dense(generator, width)
        layers += [addition, *_maybe(generator, _activation(generator))]
    yield from proved_twice(generator, Network(_linear_last(generator, layers, width)))


def images(generator: torch.Generator) -> Iterator[Verdict]:
    """A block of a convolutional network, with a strided one in the shortcut, and a layer behind it."""
    image = choice(generator, (1, 2, 2), (2, 2, 1), (1, 3, 2))
    filters, stride = choice(generator, 1, image[0]), choice(generator, 1, 2)
    first = Conv2d(image, filters, (1, 1), stride=(stride, 1))
    middle: tuple[int, int, int] = first.output_shape(())  # type: ignore[assignment]
    body = (first, ReLU(), Conv2d(middle, filters, (3, 1), padding=(1, 0)))
    plain = filters == image[0] and stride == 1 and choice(generator, True, False)
    pooled = filters == image[0] and choice(generator, True, False)
    pool = choice(generator, MaxPool2d, AvgPool2d)(image, (1, 1), (stride, 1))
    shortcut = () if plain else (pool if pooled else Conv2d(image, filters, (1, 1), stride=(stride, 1)),)
    layers = [ResidualSum(body, shortcut), *_maybe(generator, _activation(generator))]
    yield from proved_twice(
        generator, Network(_linear_last(generator, layers, Network(tuple(layers)).outputs))
    )


def _dense(generator: torch.Generator, width: int) -> tuple[Layer, int]:
    hidden, plain = choice(generator, 1, 2, 3), choice(generator, True, False)
    outputs = width if plain else choice(generator, 1, 2)
    first = _maybe(generator, _activation(generator))  # as in networks that normalise first
    body = (*first, Linear(width, hidden), _activation(generator), Linear(hidden, outputs))
    body = choice(generator, body, (*first, Linear(width, outputs)))
    return ResidualSum(body, () if plain else (Linear(width, outputs),)), outputs


def _activation(generator: torch.Generator) -> Layer:
    return choice(generator, ReLU(), ReLU(), LeakyReLU(0.3), Tanh())


def _maybe(generator: torch.Generator, layer: Layer) -> list[Layer]:
    return choice(generator, [layer], [])


def _linear_last(generator: torch.Generator, layers: list[Layer], width: int) -> tuple[Layer, ...]:
    """Mostly with a fully connected layer at the end."""
    return tuple(layers + choice(generator, [Linear(width, 2)], [Linear(width, 1)], []))
