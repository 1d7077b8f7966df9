"""Functions that a forward may call, as the modules that compute the same."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from fedcert.errors import UnsupportedLayer

SUPPORTED = (
    "relu, leaky_relu, tanh, sigmoid, avg_pool2d, adaptive_avg_pool2d, max_pool2d, dropout, flatten, and view"
    " or reshape as rows"
)
LOGITS = "the network must return logits: leave the softmax to the loss"
"""What to do about a softmax."""


class Rows(nn.Module):
    """Marks `x.view(-1, n)`: inputs as rows of n numbers.

    Attributes:
        width: n; None where torch works it out.
    """

    def __init__(self, width: int | None) -> None:
        super().__init__()
        self.width = width

    def extra_repr(self) -> str:
        """The width, for error messages."""
        return f"width={self.width}"


def _relu(x: Any, inplace: bool = False) -> nn.Module:
    return nn.ReLU(inplace)


def _leaky_relu(x: Any, negative_slope: float = 0.01, inplace: bool = False) -> nn.Module:
    return nn.LeakyReLU(negative_slope, inplace)


def _tanh(x: Any) -> nn.Module:
    return nn.Tanh()


def _sigmoid(x: Any) -> nn.Module:
    return nn.Sigmoid()


def _avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> nn.Module:
    return nn.AvgPool2d(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_avg_pool2d(x: Any, output_size: Any) -> nn.Module:
    return nn.AdaptiveAvgPool2d(output_size)


def _max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> nn.Module:
    return nn.MaxPool2d(kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def _dropout(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> nn.Module:
    return nn.Dropout(p, inplace).train(training)


def _flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> nn.Module:
    return nn.Flatten(start_dim, end_dim)


def _view(x: Any, *shape: Any) -> nn.Module:
    """Rows of numbers: the first size is that of the batch, None here, or left open."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    if len(sizes) != 2 or not (sizes[0] is None or (sizes[0] == -1 and sizes[1] != -1)):
        shown = ", ".join("batch" if size is None else str(size) for size in sizes)
        raise UnsupportedLayer(f"a view of shape ({shown}): supported are (-1, n) and (batch, n)")
    return Rows(None if sizes[1] == -1 else sizes[1])


_FUNCTIONS: dict[Any, Callable[..., nn.Module]] = {
    functional.relu: _relu,
    torch.relu: _relu,
    "relu": _relu,
    functional.leaky_relu: _leaky_relu,
    functional.tanh: _tanh,
    torch.tanh: _tanh,
    "tanh": _tanh,
    functional.sigmoid: _sigmoid,
    torch.sigmoid: _sigmoid,
    "sigmoid": _sigmoid,
    functional.avg_pool2d: _avg_pool2d,
    functional.adaptive_avg_pool2d: _adaptive_avg_pool2d,
    functional.max_pool2d: _max_pool2d,
    functional.dropout: _dropout,
    torch.flatten: _flatten,
    "flatten": _flatten,
    "view": _view,
    "reshape": _view,
}


def module_of(target: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> nn.Module:
    """The module that computes what a function does; an unknown one raises.

    Args:
        target: the function, or the name of a tensor's method.
        arguments: what it is called with.
        options: its keyword arguments.

    Examples:
        >>> module_of(torch.relu, (None,), {})
        ReLU()
    """
    if "softmax" in name_of(target):
        raise UnsupportedLayer(f"a call of {name_of(target)}: {LOGITS}")
    if target not in _FUNCTIONS:
        raise UnsupportedLayer(f"a call of {name_of(target)}: supported are the functions {SUPPORTED}")
    try:
        return _FUNCTIONS[target](*arguments, **options)
    except TypeError as error:
        raise UnsupportedLayer(f"a call of {name_of(target)} with arguments unknown here: {error}") from error


def name_of(target: Any) -> str:
    """The full name of a function, or that of a tensor's method.

    >>> name_of(functional.relu), name_of("add")
    ('torch.nn.functional.relu', 'torch.Tensor.add')
    """
    if isinstance(target, str):
        return f"torch.Tensor.{target}"
    return f"{getattr(target, '__module__', None) or 'torch'}.{getattr(target, '__name__', target)}"
