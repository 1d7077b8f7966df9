"""Backward linear bounds (CROWN) over weight boxes and input boxes, batched over boxes × properties.

From the constraints back to the input, C f_θ(x) + d ≥ a h + c is kept as a lower bound that is linear in a
layer's activations h: each layer takes a bound in its outputs to one in its inputs. Affine layers take the
least coefficients over the weight box, exactly; nonlinear ones replace themselves by lines. At the input the
bound is minimised over the region. Unlike intervals, it keeps that all neurons see the same input. Additive
noise on pre-activations is a box of biases, and needs nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers import Activation, Layer
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.backward import LinearBound
from fedcert.numerics.box import Box
from fedcert.numerics.interval import Bounds
from fedcert.numerics.rounding import down
from fedcert.verify.interval import layer_parameters, proven, region_bounds

MAX_HELD_ELEMENTS = 2**22  # coefficients of rows that are carried back at a time


@dataclass(frozen=True)
class LinearVerifier:
    """Backward linear bounds, for networks whose last layer is not an activation."""

    def __call__(self, network: Network, boxes: Box, properties: Properties) -> Bool[Tensor, "B P"]:
        """Whether every constraint is proven, for each box and property."""
        return proven(self.margins(network, boxes, properties))

    def margins(self, network: Network, boxes: Box, properties: Properties) -> Float64[Tensor, "B P R"]:
        """Lower bounds of (C f_θ(x) + d)_r over θ in the box and x in the region."""
        last = network.layers[-1]
        if last.nonlinear:
            raise UnsupportedLayer(
                f"backward bounds need a Linear layer at the end, or a like one, not {last}"
            )
        rows = properties.C.expand(len(boxes), *properties.C.shape[-3:])
        steps = _steps(network, boxes, properties)
        return down(_backward(rows, steps) + properties.d)


@dataclass(frozen=True)
class _Step:
    """A layer, with bounds of its parameters and of its inputs."""

    layer: Layer
    parameters: tuple[Bounds, ...]
    inputs: Bounds


def _steps(network: Network, boxes: Box, properties: Properties) -> list[_Step]:
    """The layers with bounds of their inputs, first to last.

    Bounds are intervals. Where lines depend on them, in front of a nonlinear layer, they are the tighter of
    interval and backward; after a single layer, or an activation, intervals are as good.
    """
    x = region_bounds(network, properties.regions)
    steps: list[_Step] = []
    for layer, parameters in zip(network.layers, layer_parameters(network, boxes), strict=True):
        if steps:
            x = steps[-1].layer.interval(steps[-1].parameters, x)
        if layer.nonlinear and len(steps) > 1 and not isinstance(steps[-1].layer, Activation):
            unit = torch.eye(x.lower.shape[-1], dtype=torch.float64, device=x.lower.device)
            rows = torch.cat([unit, -unit]).expand(len(boxes), properties.C.shape[-3], -1, -1)
            lower, minus_upper = _in_pieces(rows, steps).chunk(2, dim=-1)
            x = Bounds(torch.fmax(x.lower, lower), torch.fmin(x.upper, -minus_upper))
        steps.append(_Step(layer, parameters, x))
    return steps


def _in_pieces(rows: Float64[Tensor, "B P R m"], steps: Sequence[_Step]) -> Float64[Tensor, "B P R"]:
    """The same as `_backward`, some rows at a time: images have thousands of neurons."""
    widest = max(rows.shape[-1], *(step.inputs.lower.shape[-1] for step in steps))
    size = max(1, MAX_HELD_ELEMENTS // (rows.shape[0] * rows.shape[1] * widest))
    return torch.cat([_backward(part, steps) for part in rows.split(size, -2)], -1)


def _backward(rows: Float64[Tensor, "B P R m"], steps: Sequence[_Step]) -> Float64[Tensor, "B P R"]:
    """Lower bounds of rows · z for the outputs z of the last of the layers."""
    first, *later = steps
    bound = LinearBound.of(rows)
    for step in reversed(later):
        bound = step.layer.backward(step.parameters, step.inputs, bound).settled(step.inputs)
    return first.layer.backward(first.parameters, first.inputs, bound).least(first.inputs)
