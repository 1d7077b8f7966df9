"""Networks on small images: margins in exact arithmetic, and what a verifier proves by the checker too."""

from collections.abc import Iterator

import torch

from fedcert.model.layers import AvgPool2d, Conv2d, Layer, LeakyReLU, Linear, MaxPool2d, ReLU, Tanh
from fedcert.model.network import Network
from fuzz.hostile import choice
from fuzz.networks import proved_twice
from fuzz.verdicts import Verdict

CONVOLUTIONS = (
    Conv2d((1, 2, 2), 1, (2, 2)),
    Conv2d((1, 2, 2), 2, (1, 2)),
    Conv2d((1, 3, 2), 1, (2, 2), stride=(2, 1), padding=(1, 0)),
    Conv2d((2, 2, 2), 2, (2, 1), groups=2),
    Conv2d((2, 2, 2), 1, (2, 2), padding=(1, 1), dilation=(2, 2)),
    Conv2d((1, 2, 3), 2, (1, 1), groups=1),
)


def convolutions(generator: torch.Generator) -> Iterator[Verdict]:
    """One or two convolutions, with or without an activation behind each, and a fully connected layer."""
    yield from proved_twice(generator, behind(generator, _convolved(generator)))


def means(generator: torch.Generator) -> Iterator[Verdict]:
    """The same with means over windows."""
    yield from _pooled(generator, AvgPool2d)


def maxima(generator: torch.Generator) -> Iterator[Verdict]:
    """The same with maxima over windows."""
    yield from _pooled(generator, MaxPool2d)


def _pooled(generator: torch.Generator, kind: type[AvgPool2d] | type[MaxPool2d]) -> Iterator[Verdict]:
    layers = _convolved(generator)
    image = Network(tuple(layers)).value_shapes[-1]
    yield from proved_twice(generator, behind(generator, [*layers, _pool(generator, kind, image)]))


def _convolved(generator: torch.Generator) -> list[Layer]:
    layers: list[Layer] = [choice(generator, *CONVOLUTIONS)]
    return [*layers, ReLU()] if choice(generator, True, False) else layers


def _pool(
    generator: torch.Generator, kind: type[AvgPool2d] | type[MaxPool2d], image: tuple[int, ...]
) -> Layer:
    channels, height, width = image
    kernel = choice(generator, 1, 2, height), choice(generator, 1, 2, width)
    fitting = min(kernel[0], height), min(kernel[1], width)
    stride = choice(generator, (1, 1), fitting)
    if kind is AvgPool2d:
        return AvgPool2d((channels, height, width), fitting, stride, choice(generator, (0, 0), (1, 0)))
    return MaxPool2d((channels, height, width), fitting, stride)


def behind(generator: torch.Generator, layers: list[Layer]) -> Network:
    """A network of these layers, an activation or a second convolution, and a fully connected layer."""
    network = Network(tuple(layers))
    shape = network.value_shapes[-1]
    more: list[Layer] = []
    if not isinstance(layers[-1], ReLU):
        more.append(choice(generator, ReLU(), LeakyReLU(0.3), Tanh()))
    if choice(generator, True, False):
        more += [Conv2d(shape, choice(generator, 1, 2), (1, 1)), ReLU()]  # type: ignore[arg-type]
    if choice(generator, True, True, False):
        width = Network((*layers, *more)).outputs
        more.append(Linear(width, choice(generator, 1, 2)))
    return Network((*layers, *more))
