"""Layers one after the other: shapes of their values, and who owns which parameters."""

import math
from collections.abc import Sequence

from fedcert.errors import ShapeMismatch
from fedcert.model.layers.protocol import Layer, Part


def chain_inputs(layers: Sequence[Layer]) -> int | None:
    """The length of an input; None if every layer takes any and keeps its shape.

    Args:
        layers: first to last.
    """
    return next((layer.inputs for layer in layers if layer.inputs is not None), None)


def chain_shapes(layers: Sequence[Layer], shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The shapes of the input and of every layer's output; layers that do not fit together raise.

    Args:
        layers: first to last.
        shape: of the input.
    """
    shapes = [shape]
    for place, layer in enumerate(layers):
        if layer.inputs not in (None, math.prod(shapes[-1])):
            before = layers[place - 1] if place else f"an input of shape {shape}"
            raise ShapeMismatch(f"{before} is followed by {layer}: widths differ")
        shapes.append(layer.output_shape(shapes[-1]))
    return shapes


def by_layer(layers: Sequence[Layer], parameters: Sequence[Part]) -> list[tuple[Part, ...]]:
    """The parameters of each layer, from those of all.

    Args:
        layers: first to last.
        parameters: one for each of the layers' shapes, in their order.
    """
    own = iter(parameters)
    return [tuple(next(own) for _ in layer.shapes) for layer in layers]
