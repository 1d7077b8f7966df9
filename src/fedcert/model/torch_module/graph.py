"""The graph of a forward as a chain of modules, with additions of two chains that begin at the same value."""

import operator
from dataclasses import dataclass

import torch
from torch import fx, nn
from torch.fx.node import map_arg

from fedcert.errors import UnsupportedLayer
from fedcert.model.layers.registry import qualified
from fedcert.model.torch_module.functions import SUPPORTED, module_of, name_of

ADDITIONS = (operator.add, operator.iadd, torch.add, "add", "add_")
"""What adds two results in a forward."""


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a chain.

    Attributes:
        name: of the module inside the one that is read; for a function, that of its node in the graph.
        module: what is computed.
    """

    name: str
    module: nn.Module


@dataclass(frozen=True, eq=False)
class Addition:
    """The sum of what two chains make of the same value.

    Attributes:
        name: of its node in the graph.
        chains: their steps; one of them may have none.
    """

    name: str
    chains: tuple["list[Step | Addition]", ...]


def read_graph(root: nn.Module, graph: fx.Graph, owner: str) -> list[Step | Addition]:
    """The steps of a graph in which every value leads to the output, batch sizes apart.

    Args:
        root: the module that was traced.
        graph: of its forward.
        owner: the name of the module that is read, for errors.
    """
    read = _Graph(root, owner)
    *nodes, output = graph.nodes
    for node in nodes:
        read.add(node)
    (last,) = output.args
    if not isinstance(last, fx.Node) or last not in read.before:
        raise UnsupportedLayer(f"the forward of {owner} returns something else than a step's result")
    steps = read.chain(last, None)
    for node in read.before:
        if node not in read.used:
            read.refuse(node)
    return steps


class _Graph:
    """The values of a graph, each with the one that all ways to it lead through last.

    Attributes:
        before: by value; None for the input.
        steps: what computes a value from the one before it; none for additions.
        used: the values that lead to the output.
    """

    def __init__(self, root: nn.Module, owner: str) -> None:
        self.root, self.owner = root, owner
        self.before: dict[fx.Node, fx.Node | None] = {}
        self.steps: dict[fx.Node, nn.Module] = {}
        self.used: set[fx.Node] = set()
        self.sizes: dict[fx.Node, str] = {}

    def add(self, node: fx.Node) -> None:
        """Take in the next node."""
        if node.op == "placeholder":
            self.before[node] = None
        elif (size := _size(node, list(self.before), self.sizes)) is not None:
            self.sizes[node] = size
        elif summands := self._summands(node):
            self.before[node] = self._common(*summands)
        else:
            first = node.args[0] if node.args else None
            before = first if isinstance(first, fx.Node) and first in self.before else None
            self.steps[node] = self._module(node, before)
            self.before[node] = before

    def chain(self, last: fx.Node, first: fx.Node | None) -> list[Step | Addition]:
        """The steps that lead from one value to another; from the input, if that is None."""
        found: list[Step | Addition] = []
        node: fx.Node | None = last
        while node is not None and node is not first:
            self.used.add(node)
            before = self.before[node]
            if node in self.steps:
                found.append(Step(_name(node), self.steps[node]))
            elif before is not None:
                chains = tuple(self.chain(end, before) for end in self._summands(node))
                found.append(Addition(node.name, chains))
            node = before
        return found[::-1]

    def refuse(self, node: fx.Node) -> None:
        """Raise, and name the node."""
        what = (
            qualified(type(self.root.get_submodule(str(node.target)))) if node.op == "call_module" else None
        )
        what = what or (f"the parameter {node.target}" if node.op == "get_attr" else name_of(node.target))
        raise UnsupportedLayer(
            f"the forward of {self.owner} is no chain of modules at {node.name} ({what}): supported are"
            f" modules and the functions {SUPPORTED}, each applied to the result before it, and additions of"
            " two such chains that begin at the same result, as fedcert.Residual(body, shortcut) writes them"
        )

    def _summands(self, node: fx.Node) -> tuple[fx.Node, ...]:
        """The two values that a node adds; none if it does anything else."""
        values = tuple(own for own in node.args if isinstance(own, fx.Node) and own in self.before)
        added = node.target in ADDITIONS and len(node.args) == 2 and not node.kwargs
        return values if added and len(values) == 2 else ()

    def _common(self, one: fx.Node, other: fx.Node) -> fx.Node | None:
        """The last value that all ways to two others lead through."""
        ways, node = [one], self.before[one]
        while node is not None:
            ways.append(node)
            node = self.before[node]
        node = other
        while node not in ways:
            node = self.before[node]  # type: ignore[index]  # the input is on every way
        return node

    def _module(self, node: fx.Node, before: fx.Node | None) -> nn.Module:
        """The module of a step that takes one value, and nothing else that is computed."""
        batch = {own for own, size in self.sizes.items() if size == "batch"}
        arguments, options = map_arg((node.args, node.kwargs), lambda own: None if own in batch else own)
        used = set(node.all_input_nodes) - batch
        if node.op == "get_attr" or before is None or used != {before}:
            self.refuse(node)
        if node.op == "call_module":
            return self.root.get_submodule(str(node.target))
        return module_of(node.target, arguments, options)


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
