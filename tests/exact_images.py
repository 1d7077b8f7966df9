"""Layers on images in ball arithmetic, straight from their definitions, pixel by pixel."""

from collections.abc import Callable

from flint import arb

from fedcert.model.layers import AvgPool2d, Conv2d, MaxPool2d


def pixel(image: tuple[int, int, int], x: list[arb], c: int, row: int, column: int) -> arb:
    """A pixel of a channel; 0 outside of the image."""
    _, height, width = image
    if not (0 <= row < height and 0 <= column < width):
        return arb(0)
    return x[(c * height + row) * width + column]


def exact_conv2d(layer: Conv2d) -> Callable[[list, list[arb]], list[arb]]:
    """The convolution: y[o, i, j] = b[o] + Σ_{c, p, q} W[o, c, p, q] x[c', s i + d p − a, t j + e q − b]."""

    def convolved(parameters: list, x: list[arb]) -> list[arb]:
        weight, bias = parameters
        _, down, right = layer.output_shape(())
        each, per_group = layer.image[0] // layer.groups, layer.filters // layer.groups
        (s, t), (d, e), (a, b) = layer.stride, layer.dilation, layer.padding
        found = []
        for o in range(layer.filters):
            first = o // per_group * each
            for i in range(down):
                for j in range(right):
                    terms = (
                        weight[o][c][p][q]
                        * pixel(layer.image, x, first + c, s * i + d * p - a, t * j + e * q - b)
                        for c in range(each)
                        for p in range(layer.kernel[0])
                        for q in range(layer.kernel[1])
                    )
                    found.append(sum(terms, bias[o]))
        return found

    return convolved


def windows_of(layer: AvgPool2d | MaxPool2d, x: list[arb]) -> list[list[arb]]:
    """The pixels of each window, channel by channel."""
    channels, down, right = layer.output_shape(())
    (s, t), (d, e) = layer.stride, getattr(layer, "dilation", (1, 1))
    a, b = getattr(layer, "padding", (0, 0))
    return [
        [
            pixel(layer.image, x, c, s * i + d * p - a, t * j + e * q - b)
            for p in range(layer.kernel[0])
            for q in range(layer.kernel[1])
        ]
        for c in range(channels)
        for i in range(down)
        for j in range(right)
    ]


def exact_mean(window: list[arb]) -> arb:
    return sum(window, arb(0)) / len(window)
