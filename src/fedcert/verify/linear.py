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
from fedcert.model.layers import Activation, Affine, Branched, Layer
from fedcert.model.layers.chain import by_layer
from fedcert.model.layers.linear import shifted
from fedcert.model.network import Network
from fedcert.model.properties import Properties
from fedcert.numerics.backward import LinearBound, LooseBound, added, least_over_box
from fedcert.numerics.box import Box
from fedcert.numerics.interval import Bounds, total
from fedcert.numerics.parts import in_parts
from fedcert.numerics.rounding import down
from fedcert.verify.interval import layer_parameters, proven, region_bounds


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
        x = region_bounds(network, properties.regions)
        steps = _steps(network.layers, layer_parameters(network, boxes), x, (), rows.shape[:2])
        return down(_backward(rows, steps) + properties.d)


@dataclass(frozen=True)
class _Step:
    """A layer, with bounds of its parameters and of its inputs; of a sum of chains, with their steps."""

    layer: Layer
    parameters: tuple[Bounds, ...]
    inputs: Bounds
    chains: tuple[tuple["_Step", ...], ...] = ()

    @property
    def outputs(self) -> Bounds:
        """Intervals; of a sum, from the bounds inside its chains."""
        if not self.chains:
            return self.layer.interval(self.parameters, self.inputs)
        return total([chain[-1].outputs if chain else self.inputs for chain in self.chains])

    @property
    def width(self) -> int:
        """The number of inputs of the layer, or of a layer inside."""
        inside = (step.width for chain in self.chains for step in chain)
        return max(self.inputs.lower.shape[-1], *inside, 0)

    def backward(self, bound: LinearBound) -> LinearBound | LooseBound:
        """From a bound that is linear in the outputs to one that is linear in the inputs."""
        if not self.chains:
            return self.layer.backward(self.parameters, self.inputs, bound)
        parts = zip(self.chains, bound.shared(len(self.chains)), strict=True)
        return added([_carried(chain, own) for chain, own in parts])


def _steps(
    layers: Sequence[Layer],
    parameters: Sequence[tuple[Bounds, ...]],
    x: Bounds,
    before: tuple[_Step, ...],
    batch: Sequence[int],
) -> tuple[_Step, ...]:
    """The layers of a chain with bounds of their inputs, first to last.

    Bounds are intervals. Where lines depend on them, in front of a nonlinear layer, they are the tighter of
    interval and backward; after a single layer, or an activation, intervals are as good. Rows are carried
    back to the network's input: from inside a sum, along the chain that they are in.

    Args:
        layers: of the chain.
        parameters: bounds of those of each layer.
        x: bounds of the chain's input.
        before: the steps from the network's input to the chain's.
        batch: the numbers of boxes and properties.
    """
    path = before
    for layer, own in zip(layers, parameters, strict=True):
        if len(path) > len(before):
            x = path[-1].outputs
        if layer.nonlinear and _correlated(path):
            unit = torch.eye(x.lower.shape[-1], dtype=torch.float64, device=x.lower.device)
            rows = torch.cat([unit, -unit]).expand(*batch, -1, -1)
            lower, minus_upper = _in_pieces(rows, path).chunk(2, dim=-1)
            x = Bounds(torch.fmax(x.lower, lower), torch.fmin(x.upper, -minus_upper))
        chains: tuple[tuple[_Step, ...], ...] = ()
        if isinstance(layer, Branched):
            theirs = iter(by_layer([part for chain in layer.chains for part in chain], own))
            chains = tuple(
                _steps(chain, [next(theirs) for _ in chain], x, path, batch)[len(path) :]
                for chain in layer.chains
            )
        path = (*path, _Step(layer, own, x, chains))
    return path


def _correlated(path: Sequence[_Step]) -> bool:
    """Whether bounds that are carried back along a path may be tighter than intervals."""
    return (
        bool(path) and not isinstance(path[-1].layer, Activation) and (len(path) > 1 or bool(path[0].chains))
    )


def _in_pieces(rows: Float64[Tensor, "B P R m"], steps: Sequence[_Step]) -> Float64[Tensor, "B P R"]:
    """The same as `_backward`, some rows at a time: images have thousands of neurons."""
    widest = max(rows.shape[-1], *(step.width for step in steps))
    parts = in_parts(rows.shape[-2], rows.shape[0] * rows.shape[1] * widest, rows.device)
    return torch.cat([_backward(rows[..., part, :], steps) for part in parts], -1)


def _backward(rows: Float64[Tensor, "B P R m"], steps: Sequence[_Step]) -> Float64[Tensor, "B P R"]:
    """Lower bounds of rows · z for the outputs z of the last of the layers."""
    first, bound = steps[0], LinearBound.of(rows)
    if not isinstance(first.layer, Affine) or not (first.inputs.lower >= 0).all():
        return _carried(steps, bound).least(first.inputs)
    for step in reversed(steps[1:]):
        bound = step.backward(bound).settled(step.inputs)
    weight, bias = first.layer.matrix(first.parameters)
    return least_over_box(LinearBound(bound.coefficients, *shifted(bound, bias)), weight, first.inputs)


def _carried(steps: Sequence[_Step], bound: LinearBound) -> LinearBound | LooseBound:
    """From a bound that is linear in the outputs of a chain to one that is linear in its inputs."""
    for step in reversed(steps[1:]):
        bound = step.backward(bound).settled(step.inputs)
    return steps[0].backward(bound) if steps else bound
