"""What a forward computes, found by running it on symbols (torch.fx)."""

from collections.abc import Sequence
from typing import Any

from torch import fx, nn
from torch.nn.modules import module as torch_module

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.registry import descends_from_layer, qualified
from fedcert.model.torch_module.graph import Addition, Step, read_graph

Chain = Sequence[str | nn.Module]
"""The steps of a forward in their order: names of submodules, and modules without parameters."""


def steps_of(module: nn.Module, chain: Chain | None = None) -> list[Step | Addition]:
    """What a module computes, step by step; a forward that is no chain raises and says where.

    Args:
        module: the module.
        chain: its steps, where the user describes them; None has its forward traced.

    Examples:
        >>> [step.name for step in steps_of(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU())))]
        ['0', '1.0']
    """
    refuse_what_tracing_misses(module)
    root = forward_of(module, chain)
    try:
        graph = _Tracer().trace(root)
    except UnsupportedLayer:
        raise
    except Exception as error:  # whatever a foreign forward raises on symbols, it is no chain
        raise UnsupportedLayer(
            f"the forward of {qualified(type(module))} cannot be traced ({error}): supported is a chain of"
            " modules; describe it with `chain`, such as from_torch(module, chain=['fc1', nn.ReLU(), 'fc2'])"
        ) from error
    return read_graph(root, graph, qualified(type(module)))


def forward_of(module: nn.Module, chain: Chain | None) -> nn.Module:
    """A module of one argument that computes what is read; the read module's names begin with "module.".

    Args:
        module: the module that is read.
        chain: its steps, or None for its own forward.
    """
    return _Whole(module) if chain is None else _Described(module, chain)


class _Whole(nn.Module):
    """The module as it is called with one argument."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Any) -> Any:
        return self.module(x)


class _Described(nn.Module):
    """Submodules in the order that the user describes."""

    def __init__(self, module: nn.Module, chain: Chain) -> None:
        super().__init__()
        self.module = module
        self.given = nn.ModuleList(step for step in chain if isinstance(step, nn.Module))
        self.steps = [_submodule(module, step) if isinstance(step, str) else step for step in chain]
        if any(True for _ in self.given.parameters()):
            raise UnsupportedLayer("chain: a module with parameters is given by its name, such as 'fc1'")
        refuse_what_tracing_misses(self.given)

    def forward(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x


def _submodule(module: nn.Module, name: str) -> nn.Module:
    try:
        return module.get_submodule(name)
    except AttributeError as error:
        known = ", ".join(own for own, _ in module.named_modules() if own)
        raise UnsupportedLayer(f"chain: no submodule {name!r}; there are {known}") from error


def refuse_what_tracing_misses(module: nn.Module) -> None:
    """Raise if calling a module does more than its forward says.

    Args:
        module: with all its submodules.
    """
    everywhere = bool(torch_module._global_forward_hooks or torch_module._global_forward_pre_hooks)
    for name, own in module.named_modules():
        if everywhere or own._forward_hooks or own._forward_pre_hooks or "forward" in vars(own):
            raise UnsupportedLayer(
                f"layer {name or '(the module itself)'} is a {qualified(type(own))}: supported are modules"
                " without hooks, parametrisations or a forward of their own"
            )


class _Tracer(fx.Tracer):
    """Looks into every module except torch's own and those that are layers, or pass for one."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return descends_from_layer(type(m)) or super().is_leaf_module(m, module_qualified_name)
