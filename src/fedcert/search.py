"""Search: what to try, in which order. The budget is the caller's."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import count, product
from math import prod
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

Node = TypeVar("Node")
IndexProduct = tuple[tuple[int, ...], ...]
"""S_1 × … × S_n, a set of indices for each client: it stands for all its tuples."""


class BestFirst(Generic[Node]):
    """An iterator over nodes, the one with the least key first, to which nodes can be added on the way.

    Nodes with equal keys come in the order in which they were added. Whoever iterates decides what becomes
    of a node: it is done, or its parts are added.
    """

    def __init__(self, key: Callable[[Node], Any], root: Node) -> None:
        """Start from one node.

        Args:
            key: the order of the nodes, least first; computed once for each node.
            root: the first node.
        """
        self._key = key
        self._number = count()
        self._heap: list[tuple[Any, int, Node]] = []
        self.add(root)

    def add(self, *nodes: Node) -> None:
        """Add nodes that are still to be looked at."""
        for node in nodes:
            heapq.heappush(self._heap, (self._key(node), next(self._number), node))

    @property
    def waiting(self) -> list[Node]:
        """The nodes that are still to be looked at; the order is the same in every run and means nothing."""
        return [node for *_, node in self._heap]

    def __iter__(self) -> Iterator[Node]:
        return self

    def __next__(self) -> Node:
        if not self._heap:
            raise StopIteration
        return heapq.heappop(self._heap)[-1]

    def __len__(self) -> int:
        return len(self._heap)


@runtime_checkable
class Search(Protocol):
    """Yields distinct tuples (k_1, …, k_n) of cell indices, one index a client."""

    def __call__(self, log_masses: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
        """Search the product of the clients' cells, given their log masses."""
        ...


def exhaustive(log_masses: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Every tuple, in lexicographic order."""
    return product(*(range(len(masses)) for masses in log_masses))


def heaviest_first(log_masses: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
    """Every tuple, in the order of falling joint mass Π p_{i,k_i}, made as they are asked for.

    With each client's cells sorted, the heaviest tuple takes every client's first cell, and a tuple's
    successors move one client on to its next cell. To reach each tuple along one path only, a
    successor moves the client that its parent moved last, or a later one.
    """
    ranked = [sorted(range(len(m)), key=[-mass for mass in m].__getitem__) for m in log_masses]
    if not all(ranked):
        return

    def key(node: tuple[tuple[int, ...], int]) -> tuple[float, tuple[int, ...]]:
        # summed from the left, in which every addition is monotone, so no successor overtakes
        mass = sum(m[order[r]] for m, order, r in zip(log_masses, ranked, node[0], strict=True))
        return -mass, node[0]

    frontier = BestFirst(key, ((0,) * len(ranked), 0))
    for ranks, last_moved in frontier:
        yield tuple(order[r] for order, r in zip(ranked, ranks, strict=True))
        for client in range(last_moved, len(ranked)):
            if ranks[client] + 1 < len(ranked[client]):
                moved = (*ranks[:client], ranks[client] + 1, *ranks[client + 1 :])
                frontier.add((moved, client))


def exhaustive_within(budget: int) -> Search:
    """Algorithm 1's choice: every tuple where they fit the budget, otherwise the heaviest first."""

    def search(log_masses: Sequence[Sequence[float]]) -> Iterator[tuple[int, ...]]:
        fits = prod(len(masses) for masses in log_masses) <= budget
        return exhaustive(log_masses) if fits else heaviest_first(log_masses)

    return search
