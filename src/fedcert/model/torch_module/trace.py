"""The chain of modules that a forward is, found by running it on symbols (torch.fx)."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import fx, nn
from torch.fx.node import map_arg
from torch.nn.modules import module as torch_module

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.registry import descends_from_layer, qualified
from fedcert.model.torch_module.functions import SUPPORTED, module_of, name_of

Chain = Sequence[str | nn.Module]
"""The steps of a forward in their order: names of submodules, and modules without parameters."""


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a chain.

    Attributes:
        name: of the module inside the one that is read; for a function, that of its node in the graph.
        module: what is computed.
    """

    name: str
    module: nn.Module


def steps_of(module: nn.Module, chain: Chain | None = None) -> list[Step]:
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
    return list(_walk(root, graph, qualified(type(module))))


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


def _walk(root: nn.Module, graph: fx.Graph, owner: str) -> Iterator[Step]:
    """The steps of a graph in which every value is used by the next step alone, batch sizes apart."""
    values: list[fx.Node] = []
    sizes: dict[fx.Node, str] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            values.append(node)
        elif (size := _size(node, values, sizes)) is not None:
            sizes[node] = size
        elif node.op == "output":
            if node.args[0] is not values[-1]:
                raise UnsupportedLayer(f"the forward of {owner} returns something else than its last step")
        else:
            yield Step(_name(node), _module(root, node, values[-1], sizes, owner))
            values.append(node)


def _size(node: fx.Node, values: list[fx.Node], sizes: dict[fx.Node, str]) -> str | None:
    """Which size a node is: "shape", the shape of a value, or "batch", its first entry; None if neither."""
    first = node.args[0] if node.args else None
    if (node.op, node.target, node.args[1:]) == ("call_method", "size", (0,)) and first in values:
        return "batch"
    if node.target is getattr and node.args[1] == "shape" and first in values:
        return "shape"
    if node.target is operator.getitem and node.args[1] == 0 and sizes.get(first) == "shape":  # type: ignore[arg-type]
        return "batch"
    return None


def _name(node: fx.Node) -> str:
    """The name of a step inside the module that is read; that of the module itself is empty."""
    if node.op != "call_module":
        return node.name
    return str(node.target).removeprefix("module").removeprefix(".")


def _module(
    root: nn.Module, node: fx.Node, before: fx.Node, sizes: dict[fx.Node, str], owner: str
) -> nn.Module:
    """The module of a step that takes the value before it, and nothing else that is computed."""
    batch = {own for own, size in sizes.items() if size == "batch"}
    arguments, options = map_arg((node.args, node.kwargs), lambda own: None if own in batch else own)
    what = qualified(type(root.get_submodule(str(node.target)))) if node.op == "call_module" else None
    what = what or (f"the parameter {node.target}" if node.op == "get_attr" else name_of(node.target))
    used = set(node.all_input_nodes) - batch
    if node.op == "get_attr" or used != {before} or node.args[:1] != (before,):
        raise UnsupportedLayer(
            f"the forward of {owner} is no chain of modules at {node.name} ({what}): supported are modules"
            f" and the functions {SUPPORTED}, each applied to the result before it"
        )
    if node.op == "call_module":
        return root.get_submodule(str(node.target))
    return module_of(node.target, arguments, options)
