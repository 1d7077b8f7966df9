"""Torch modules as networks."""

import math

from torch import nn

from fedcert.errors import ShapeMismatch, UnsupportedLayer
from fedcert.model.layers import Layer
from fedcert.model.layers.registry import layer_of_module, qualified
from fedcert.model.network import Network


def from_torch(module: nn.Module, shape: tuple[int, ...] | None = None) -> Network:
    """The network that a torch module computes; its θ is `parameters_to_vector`'s.

    Flatten layers are dropped, since inputs are vectors here. A module whose class is not registered, or that
    computes something else than its class says, raises and names itself.

    Args:
        module: a plain nn.Sequential.
        shape: of one input, without the batch; layers that act on images need it.

    Examples:
        >>> from fedcert.model.network import mlp
        >>> from_torch(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))) == mlp(4, 3, 2)
        True
    """
    if type(module) is not nn.Sequential:
        raise UnsupportedLayer(f"only a plain nn.Sequential can be read, not a {qualified(type(module))}")
    inputs = None if shape is None else math.prod(shape)
    layers: list[Layer] = []
    used: set[int] = set()
    for place, child in enumerate(module):
        if type(child) is nn.Flatten:
            shape = shape and (math.prod(shape),)
            continue
        try:
            layer = _read(child, shape, used)
        except UnsupportedLayer as error:
            raise UnsupportedLayer(
                f"layer {place} is a {qualified(type(child))}: {child}; {error} (Flatten layers are dropped)"
            ) from error
        layers.append(layer)
        used |= {id(parameter) for parameter in child.parameters()}
        shape = shape and layer.output_shape(shape)
    network = Network(tuple(layers))
    if inputs not in (None, network.inputs):
        raise ShapeMismatch(f"inputs of length {inputs} for a network of {network.inputs}")
    return network


def _read(module: nn.Module, shape: tuple[int, ...] | None, used: set[int]) -> Layer:
    """The layer of one module, if its parameters are its own and nothing else is computed."""
    if module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module):
        raise UnsupportedLayer(
            "supported are modules without hooks, parametrisations or a forward of their own"
        )
    if any(id(parameter) in used for parameter in module.parameters()):
        raise UnsupportedLayer("supported are modules whose parameters are used once")
    layer = layer_of_module(module, shape)
    found = tuple(tuple(parameter.shape) for parameter in module.parameters())
    if found != layer.shapes:
        raise UnsupportedLayer(f"its parameters have the shapes {found}, not {layer.shapes}")
    return layer
