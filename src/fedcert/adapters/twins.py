"""Copies of modules with other submodules in them; tensors stay shared, and the originals as they are."""

from collections.abc import Callable

from torch import nn

Replace = Callable[[str, nn.Module], nn.Module]
"""From the name of a module and a copy of it, its submodules replaced already, to what takes its place."""


def twin_of(module: nn.Module, replace: Replace) -> nn.Module:
    """A copy of a module in which every submodule, and then the module itself, may be replaced.

    Args:
        module: the module; left as it is.
        replace: what stands in the place of each.

    Examples:
        >>> twin_of(nn.Sequential(nn.ReLU()), lambda name, own: nn.Tanh() if name == "0" else own)
        Sequential(
          (0): Tanh()
        )
    """
    return _twin("", module, replace, {})


def _twin(name: str, module: nn.Module, replace: Replace, known: dict[int, nn.Module]) -> nn.Module:
    """The twin of a submodule; one that stands in several places has one twin."""
    if id(module) not in known:
        prefix = f"{name}." if name else ""
        # not copy.copy, which libraries override, nor setattr, which acts on every assignment
        twin: nn.Module = object.__new__(type(module))
        twin.__dict__.update(module.__dict__)
        twin.__dict__["_parameters"] = dict(module._parameters)
        twin.__dict__["_modules"] = {
            key: None if own is None else _twin(f"{prefix}{key}", own, replace, known)
            for key, own in module._modules.items()
        }
        known[id(module)] = replace(name, twin)
    return known[id(module)]
