"""Which classes are layers: by their name in files, and by the class of a torch module.

Types are matched exactly. A subclass may compute anything, so it is not taken for its parent: it is
registered under a name of its own, or refused.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from torch import nn

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.protocol import Layer

LayerClass = TypeVar("LayerClass", bound=type)

_BY_NAME: dict[str, type[Layer]] = {}
_BY_MODULE: dict[type[nn.Module], type[Layer]] = {}


def register_layer(layer: LayerClass) -> LayerClass:
    """Make a class of layers known, so that networks, files and `from_torch` take it; a class decorator.

    A class that is defined again, as in a notebook, replaces the one before. Any other that claims a taken
    name or torch module raises ValueError.

    Args:
        layer: a frozen dataclass with the methods of `Layer`; see examples/extend/hard_tanh.py.

    Returns:
        The class itself.

    Examples:
        >>> from fedcert.model.layers import ReLU
        >>> register_layer(ReLU) is ReLU
        True
    """
    made: Any = layer
    for taken in [_BY_NAME.get(made.name), *(_BY_MODULE.get(module) for module in made.modules)]:
        if taken is not None and qualified(taken) != qualified(layer):
            raise ValueError(f"{qualified(layer)} has the name or a torch module of {qualified(taken)}")
    _BY_NAME[made.name] = made
    _BY_MODULE.update(dict.fromkeys(made.modules, made))
    return layer


def registered_layers() -> tuple[type, ...]:
    """All classes of layers that are known.

    >>> sorted(layer.name for layer in registered_layers() if layer.__module__.startswith("fedcert."))
    ['avg-pool2d', 'conv2d', 'leaky-relu', 'linear', 'max-pool2d', 'relu', 'residual', 'sigmoid', 'tanh']
    """
    return tuple(_BY_NAME.values())


def require_registered(layer: object) -> None:
    """Raise unless a layer's own class is registered; that of a parent does not count."""
    if type(layer) not in registered_layers():
        raise UnsupportedLayer(
            f"{qualified(type(layer))} is not a registered layer, whatever it inherits from: supported are"
            f" {', '.join(map(qualified, registered_layers()))}, and what `register_layer` adds"
        )


def read_layer(description: Mapping[str, Any]) -> Layer:
    """The layer of a description; an unknown type raises.

    Args:
        description: what the layer's `describe` gave.

    Examples:
        >>> read_layer({"type": "linear", "inputs": 3, "outputs": 2})
        Linear(inputs=3, outputs=2)
    """
    name = description["type"]
    if name not in _BY_NAME:
        raise UnsupportedLayer(f"a layer of type {name!r}: supported are {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name].from_description({
        key: value for key, value in description.items() if key != "type"
    })


def descends_from_layer(module: type[nn.Module]) -> bool:
    """Whether a class of torch modules is one that is read as a layer, or a subclass, which is refused.

    >>> descends_from_layer(nn.Linear), descends_from_layer(nn.GELU)
    (True, False)
    """
    return issubclass(module, tuple(_BY_MODULE))


def layer_of_module(module: nn.Module, shape: tuple[int, ...] | None) -> Layer:
    """The layer that a torch module computes, by the module's exact class.

    Args:
        module: the torch module.
        shape: of one input, if it is known.
    """
    if isinstance(module, nn.Softmax | nn.LogSoftmax):
        raise UnsupportedLayer("the network must return logits: leave the softmax to the loss")
    if type(module) not in _BY_MODULE:
        known = ", ".join(sorted(known.__name__ for known in _BY_MODULE))
        raise UnsupportedLayer(f"no layer is registered for {qualified(type(module))}: supported are {known}")
    return _BY_MODULE[type(module)].from_module(module, shape)


def qualified(kind: type) -> str:
    """The full name of a class.

    >>> qualified(nn.ReLU)
    'torch.nn.modules.activation.ReLU'
    """
    return f"{kind.__module__}.{kind.__qualname__}"
